import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Judges who asks, for every route in the same way and whatever way it is reached by.
struct Doorkeeper: Sendable {
    let frontend: any AuthorityFrontend
    let rules: ParseRules

    /// What is to be done for this caller; nil when the request is not for this application,
    /// or a key is wrong.
    func admit(
        _ call: Call, to route: Route
    ) async throws(AuthorityError) -> Route.Handler? {
        switch route.access {
        case .open(let handle): return handle
        case .shown(let judge): return try await judge(call)
        default: break
        }
        guard call.applicationID == frontend.info.applicationID
            || (route.takesCookie && call.isPageReading)
        else { return nil }
        let verdict = route.isParse ? rules.judge(call) : .client
        guard verdict != .unauthorized else { return nil }
        switch route.access {
        case .open(let handle), .application(let handle): return handle
        case .shown: return nil
        case .session(let handle):
            guard let caller = try await caller(of: call, to: route) else { throw Self.noSession }
            let isMaster = verdict == .master
            return { call throws(AuthorityError) in
                try await handle(call.having(masterKey: isMaster), caller)
            }
        case .sessionOrMaster(let handle):
            let caller = try await caller(of: call, to: route)
            guard let caller = verdict == .master ? .master : caller else { throw Self.noSession }
            return { call throws(AuthorityError) in try await handle(call, caller) }
        case .sessionOrNone(let handle):
            let caller = try await caller(of: call, to: route)
            let asker = verdict == .master ? .master : caller
            return { call throws(AuthorityError) in try await handle(call, asker) }
        }
    }

    /// Nil when no session token was sent. The cookie counts on Postern's own routes alone, for
    /// a request of our own page, and where no header says who asks.
    private func caller(
        of call: Call, to route: Route
    ) async throws(AuthorityError) -> Caller? {
        var bearer = call.bearer
        if case .none = bearer, route.takesCookie, call.cookieBearer.isThere {
            guard call.isFromOwnPage else { throw .notFromPage }
            bearer = call.cookieBearer
        }
        return switch bearer {
        case .none: nil
        case .malformed: throw Self.noSession
        case .token(let token): try await frontend.caller(token)
        }
    }

    /// Parse's own words for a token that is absent or has no session.
    private static let noSession = AuthorityError.refused(
        Refusal(.invalidSession, "Invalid session token"))
}
