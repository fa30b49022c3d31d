import Hummingbird
import HummingbirdCore
import Wire

/// Finds the resource of a path, with Hummingbird's router.
///
/// Names are compared after percent-decoding; of two patterns that fit, the one with a name
/// where the other has a parameter wins. Any path without a resource is 404.
struct ResourceRouter: Sendable {
    private let responder: RouterResponder<ConsoleContext>

    /// Hummingbird answers 404 to a method that a path does not have. So each resource is
    /// entered under all of these, answers 405 itself, and gets other methods as TRACE.
    private static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .patch, .delete, .options, .trace,
    ]

    init(_ resources: [Resource]) {
        let router = Router(context: ConsoleContext.self)
        router.add(middleware: UnknownPath())
        for resource in resources {
            for method in Self.methods {
                router.on(RouterPath(resource.path), method: method, responder: resource)
            }
        }
        responder = router.buildResponder()
    }

    func respond(to request: Request, context: ConsoleContext) async throws -> Response {
        guard let path = Self.canonical(request.uri.path) else { return Answer.noRoute.response }
        var head = request.head
        head.path = request.uri.query.map { "\(path)?\($0)" } ?? path
        if !Self.methods.contains(head.method) { head.method = .trace }
        return try await responder.respond(
            to: Request(head: head, body: request.body), context: context)
    }

    /// Hummingbird compares names as they were sent, so each is written in one way alone. Nil for
    /// a broken escape or bytes that are not UTF-8. Source: RFC 3986 §6.2.2.
    private static func canonical(_ path: String) -> String? {
        var text = ""
        for part in path.split(separator: "/") {
            guard let name = PercentEncoding.decode(String(part)) else { return nil }
            text += "/" + PercentEncoding.encode(name)
        }
        return text.isEmpty ? "/" : text
    }
}

/// Says in our own form that there is no such path.
private struct UnknownPath: RouterMiddleware {
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
