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

    /// Any other method on a known path is 405 with `Allow`; any other path is 404.
    func router() -> Router<ConsoleContext> {
        let router = Router(context: ConsoleContext.self, options: [.autoGenerateHeadEndpoints])
        router.add(middleware: Unrouted())
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
        let body: [UInt8]
        do {
            body = Array(buffer: try await request.body.collect(upTo: Call.bodyLimit))
        } catch is NIOTooManyBytesError {
            return .tooLarge(limit: Call.bodyLimit)
        } catch {
            return Answer(.badRequest, Refusal(.invalidJSON, "the body did not come whole"))
        }
        let answer = await answer(Call(request, body: body, in: context), by: route.access)
        // The route's own path, never the request's: that may hold ids and a query.
        context.logger.debug("request", metadata: [
            "route": "\(route.method.rawValue) \(route.path)", "status": "\(answer.status.code)",
        ])
        return answer
    }

    private func answer(_ call: Call, by access: Route.Access) async -> Answer {
        do throws(AuthorityError) {
            switch access {
            case .open(let handle): return try await handle(call)
            case .application(let handle):
                guard isOurs(call) else { return .unauthorized }
                return try await handle(call)
            case .session(let handle):
                guard isOurs(call) else { return .unauthorized }
                // Parse's own words for a token that is absent or has no session.
                guard let token = call.token else {
                    throw .refused(Refusal(.invalidSession, "Invalid session token"))
                }
                return try await handle(call, try await frontend.caller(token))
            }
        } catch {
            return Answer(error)
        }
    }

    private func isOurs(_ call: Call) -> Bool { call.applicationID == frontend.info.applicationID }
}

/// Answers for paths that no route has.
private struct Unrouted: RouterMiddleware {
    typealias Context = ConsoleContext

    func handle(
        _ request: Request, context: ConsoleContext,
        next: (Request, ConsoleContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            return Answer.noRoute.response
        }
    }
}
