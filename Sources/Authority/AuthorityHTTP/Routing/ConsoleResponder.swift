import Hummingbird
import Logging
import Sessions

/// Answers every HTTP request, for Parse's API, Postern's own and the page: the router, and the
/// rules for all answers.
struct ConsoleResponder: HTTPResponder {
    typealias Context = ConsoleContext

    private let router: ResourceRouter
    private let proxies: ProxiedOrigin
    private let otherOrigins: OtherOrigins
    private let isStrictlyHTTPS: Bool
    private let readiness: Readiness
    /// `GET /parse/users/:id` of each route.
    let names: [String]

    init(
        routes: [HTTPRoute], door: CallerCheck, load: RequestThrottle, proxies: ProxiedOrigin,
        isStrictlyHTTPS: Bool, readiness: Readiness, logger: Logger
    ) {
        func resources(_ routes: [HTTPRoute]) -> [Resource] {
            Dictionary(grouping: routes, by: \.path).map { path, routes in
                Resource(
                    path: path, routes: routes.reduce(into: [:]) { $0[$1.method] = $1 },
                    door: door, load: load, logger: logger)
            }
        }
        let batch = BatchRoute(
            requests: ResourceRouter(resources(routes.filter(\.isParse))), mount: door.rules.mount)
        let all = routes + batch.routes
        router = ResourceRouter(resources(all))
        names = all.map { "\($0.methodName) \($0.path)" }
        self.proxies = proxies
        otherOrigins = OtherOrigins(origins: door.rules.origins, mount: door.rules.mount)
        self.isStrictlyHTTPS = isStrictlyHTTPS
        self.readiness = readiness
    }

    func respond(to request: Request, context: ConsoleContext) async throws -> Response {
        var context = context
        context.origin = proxies.origin(of: request, from: context.origin)
        var response = if let granted = otherOrigins.preflight(request) {
            granted
        } else {
            try await answer(request, in: context)
        }
        otherOrigins.allow(request, &response)
        // A year. Source: RFC 6797 §6.1.
        if isStrictlyHTTPS { response.headers[.strictTransportSecurity] = "max-age=31536000" }
        // While the server drains, the client should open its next connection elsewhere.
        // Source: RFC 9112 §9.6.
        if readiness.isDraining { response.headers[.connection] = "close" }
        return request.method == .head ? response.createHeadResponse() : response
    }

    private func answer(
        _ request: Request, in context: ConsoleContext
    ) async throws -> Response {
        // Source: RFC 9112 §3.2.
        if let name = HTTPFieldName.secondHost, request.headers.contains(name) {
            return Answer(
                .badRequest, Refusal(.validation, "there are two Host headers")).response
        }
        return try await router.respond(to: request, context: context)
    }
}
