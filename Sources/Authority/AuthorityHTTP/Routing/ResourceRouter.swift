import Hummingbird
import HummingbirdCore
import Wire

/// Finds the resource of a path, with Hummingbird's router.
///
/// Compares names after percent-decoding. If two patterns match, a fixed name wins over a
/// parameter. A path without a resource is 404.
struct ResourceRouter: Sendable {
    private let responder: RouterResponder<ConsoleContext>

    /// Hummingbird answers 404 to a method that a path does not have. So each resource is
    /// registered for all of these methods and answers 405 itself. Any other method reaches it as
    /// TRACE.
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

    /// Writes each name of a path in one form, because Hummingbird compares names without decoding
    /// them. Nil for a broken escape or bytes that are not UTF-8. Source: RFC 3986 §6.2.2.
    private static func canonical(_ path: String) -> String? {
        var text = ""
        for part in path.split(separator: "/") {
            guard let name = PercentEncoding.decode(String(part)) else { return nil }
            text += "/" + PercentEncoding.encode(name)
        }
        return text.isEmpty ? "/" : text
    }
}

/// Answers 404 in our own form for an unknown path.
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
