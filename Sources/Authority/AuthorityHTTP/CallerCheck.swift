import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Checks the caller of every request, in the same way for every route and for parts of a batch.
struct CallerCheck: Sendable {
    let frontend: any AuthorityFrontend
    let rules: ParseRules
    private let tries = MasterKeyTries()
    private let onRefusal: @Sendable (RefusedRequest) -> Void

    init(
        frontend: any AuthorityFrontend, rules: ParseRules,
        onRefusal: @escaping @Sendable (RefusedRequest) -> Void = { _ in }
    ) {
        self.frontend = frontend
        self.rules = rules
        self.onRefusal = onRefusal
    }

    /// Returns the handler for this caller. Nil if the request is not for this application, or if a
    /// key or a broker's secret is wrong.
    func admit(
        _ call: Call, to route: HTTPRoute
    ) async throws(AuthorityError) -> HTTPRoute.Handler? {
        switch route.access {
        case .open(let handle): return handle
        case .shown(let judge): return try await judge(call)
        default: break
        }
        guard call.applicationID == frontend.info.applicationID
            || (route.takesCookie && call.isPageReading)
        else { return nil }
        let verdict = try judge(call, for: route)
        guard verdict != .unauthorized else { return nil }
        switch route.access {
        case .open(let handle), .application(let handle):
            return watching(route, nil, handle)
        case .shown: return nil
        case .session(let handle):
            guard let caller = try await caller(of: call, to: route) else { throw Self.noSession }
            let isMaster = verdict == .master
            return watching(route, caller) { call throws(AuthorityError) in
                try await handle(call.having(masterKey: isMaster), caller)
            }
        case .sessionOrMaster(let handle):
            let caller = try await caller(of: call, to: route)
            guard let caller = verdict == .master ? .master : caller else { throw Self.noSession }
            return watching(route, caller) { call throws(AuthorityError) in
                try await handle(call, caller)
            }
        case .sessionOrNone(let handle):
            let caller = try await caller(of: call, to: route)
            let asker = verdict == .master ? .master : caller
            return watching(route, asker) { call throws(AuthorityError) in
                try await handle(call, asker)
            }
        }
    }

    /// Checks the keys of a call to one of Parse's routes, and counts each wrong master key.
    private func judge(
        _ call: Call, for route: HTTPRoute
    ) throws(AuthorityError) -> ParseRules.Verdict {
        guard route.isParse else { return .client }
        let showsMaster = call.credentials.masterKey != nil
        if showsMaster { try tries.admit(call.origin) }
        let verdict = rules.judge(call)
        if verdict == .unauthorized {
            if showsMaster { tries.countWrong(from: call.origin) }
            tell(showsMaster ? .masterKey : .clientKey, of: call, to: route, by: nil)
        }
        return verdict
    }

    /// The caller of the session token; nil if there is none. The cookie counts only on Postern's
    /// own routes, for a request of our own page without a session header.
    private func caller(
        of call: Call, to route: HTTPRoute
    ) async throws(AuthorityError) -> Caller? {
        var bearer = call.bearer
        var isAtPage = false
        if case .none = bearer, route.takesCookie, call.cookieBearer.isThere {
            guard call.isFromOwnPage else { throw .notFromPage }
            bearer = call.cookieBearer
            isAtPage = true
        }
        switch bearer {
        case .none: return nil
        case .malformed:
            tell(.malformedToken, of: call, to: route, by: nil)
            throw Self.noSession
        case .token(let token):
            switch try await frontend.holder(of: token) {
            case .caller(var caller):
                caller.isAtPage = isAtPage
                return caller
            case .nobody(let reason):
                if let reason { tell(reason, of: call, to: route, by: nil) }
                throw .sessionOver
            }
        }
    }

    /// The same handler, which knows its route and also reports each refusal with code 119.
    private func watching(
        _ route: HTTPRoute, _ caller: Caller?, _ handle: @escaping HTTPRoute.Handler
    ) -> HTTPRoute.Handler {
        { call async throws(AuthorityError) in
            do throws(AuthorityError) {
                let answer = try await handle(call.on(route))
                if answer.isForbidden { tell(.forbidden, of: call, to: route, by: caller) }
                return answer
            } catch {
                if case .refused(let refusal) = error, refusal.is(.forbidden) {
                    tell(.forbidden, of: call, to: route, by: caller)
                }
                throw error
            }
        }
    }

    private func tell(
        _ reason: RefusalReason, of call: Call, to route: HTTPRoute, by caller: Caller?
    ) {
        let subject = caller.map { $0.isMaster ? "master key" : "user \($0.user.objectID)" }
        onRefusal(RefusedRequest(
            reason, subject: subject ?? "nobody", className: route.concernedClass,
            operation: "\(route.methodName) \(route.path)",
            origin: CountedOrigin(call.origin).description))
    }

    /// Parse's own text for a token that is missing or has no session.
    private static let noSession = AuthorityError.refused(
        Refusal(.invalidSession, "Invalid session token"))
}

extension HTTPRoute {
    /// The class of the route's objects, for the log; `-` if it has none.
    fileprivate var concernedClass: String {
        let parts = path.split(separator: "/").map(String.init)
        if let index = parts.firstIndex(of: "classes"), index + 1 < parts.count {
            return parts[index + 1]
        }
        for part in parts {
            switch part {
            case "users", "login", "password", "identities", "passkeys": return "_User"
            case "sessions", "logout", "claims", "boards", "events", "broker": return "_Session"
            case "installations": return "_Installation"
            case "roles": return "_Role"
            default: continue
            }
        }
        return "-"
    }
}
