import AuthorityCore
import Hummingbird
import Logging
import NIOCore
import Sessions
import Wire

/// All routes, and the one place where a request becomes a call and an error an answer.
struct RouteTable: Sendable {
    let routes: [Route]
    let frontend: any AuthorityFrontend
    /// Whose word on their peers counts.
    var proxies: Set<String> = []

    /// Any other method on a known path is 405 with `Allow`; any other path is 404.
    func router() -> Router<ConsoleContext> {
        let router = Router(context: ConsoleContext.self, options: [.autoGenerateHeadEndpoints])
        router.add(middleware: Unrouted())
        if !proxies.isEmpty { router.add(middleware: ProxiedOrigin(proxies: proxies)) }
        for route in routes {
            router.on(RouterPath(route.path), method: route.method) { request, context in
                await respond(to: request, in: context, by: route).response
            }
        }
        let all: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete, .options]
        for (path, known) in Dictionary(grouping: routes, by: \.path) {
            let allowed = all.filter { method in known.contains { $0.method == method } }
            for method in all where !allowed.contains(method) {
                router.on(RouterPath(path), method: method) { _, _ in
                    Answer.noMethod(allowed: allowed).response
                }
            }
        }
        return router
    }

    private func respond(
        to request: Request, in context: ConsoleContext, by route: Route
    ) async -> Answer {
        var answer = await answer(request, in: context, by: route)
        let call = Call(request, in: context)
        if answer.isSessionOver, route.takesCookie, call.cookieBearer.isThere, call.isFromOwnPage {
            answer.headers[.setCookie] = call.cookie.forgetting
        }
        // The route's own path, never the request's: that may hold ids and a query.
        context.logger.debug("request", metadata: [
            "route": "\(route.method.rawValue) \(route.path)", "status": "\(answer.status.code)",
        ])
        return answer
    }

    /// Who asks is judged before any byte of the body is read.
    private func answer(
        _ request: Request, in context: ConsoleContext, by route: Route
    ) async -> Answer {
        do throws(AuthorityError) {
            let call = Call(request, in: context)
            guard let handle = try await admit(call, to: route) else {
                return .unauthorized
            }
            switch await Body(of: request, limit: route.bodyLimit) {
            case .whole(let bytes): return try await handle(call.with(body: bytes))
            case .refused(let answer): return answer
            }
        } catch {
            return Answer(error)
        }
    }

    /// What is to be done for this caller; nil when the request is not for this application.
    private func admit(
        _ call: Call, to route: Route
    ) async throws(AuthorityError) -> Route.Handler? {
        if case .open(let handle) = route.access { return handle }
        guard call.applicationID == frontend.info.applicationID
            || (route.takesCookie && call.isPageReading)
        else { return nil }
        switch route.access {
        case .open(let handle), .application(let handle): return handle
        case .session(let handle):
            guard let caller = try await caller(of: call, to: route) else { throw Self.noSession }
            return { call throws(AuthorityError) in try await handle(call, caller) }
        case .sessionOrNone(let handle):
            let caller = try await caller(of: call, to: route)
            return { call throws(AuthorityError) in try await handle(call, caller) }
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

/// A request's body, read to its end or not at all.
private enum Body: Sendable {
    case whole([UInt8])
    case refused(Answer)

    init(of request: Request, limit: Int) async {
        do {
            self = .whole(Array(buffer: try await request.body.collect(upTo: limit)))
        } catch is NIOTooManyBytesError {
            self = .refused(.tooLarge(limit: limit))
        } catch {
            self = .refused(
                Answer(.badRequest, Refusal(.invalidJSON, "the body did not come whole")))
        }
    }
}

/// Answers for paths that no route has.
private struct Unrouted: RouterMiddleware {
    typealias Context = ConsoleContext

    func handle(
        _ request: Request, context: ConsoleContext,
        next: (Request, ConsoleContext) async throws -> Response
    ) async throws -> Response {
        // The router leaves off what it cannot decode, and would find the path before it.
        let path = (request.head.path ?? "").prefix { $0 != "?" }
        guard PercentEncoding.decode(String(path)) != nil else { return Answer.noRoute.response }
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            return Answer.noRoute.response
        }
    }
}
