import Hummingbird
package import Logging
import Sessions

/// The HTTP server while there is no store: it answers every request with 503.
///
/// It runs before the store is opened for the first time. If the store goes away later, the routes
/// of `ConsoleServer` answer 503 themselves.
package struct StoreAwayServer: Sendable {
    private let listener: HTTPListener

    /// Plain HTTP; `onListening` gets the port.
    package init(
        listen: (host: String, port: Int), logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        listener = HTTPListener(
            address: .hostname(listen.host, port: listen.port), logger: logger,
            onListening: onListening)
    }

    /// Answers until its task is cancelled. Throws the socket's error if the address is taken.
    package func run() async throws { try await listener.run(StoreAwayResponder()) }
}

private struct StoreAwayResponder: HTTPResponder {
    typealias Context = ConsoleContext

    func respond(to request: Request, context: ConsoleContext) -> Response {
        let word = Readiness.Word.storeAway.rawValue
        let answer = request.uri.path == "/postern/v1/health"
            ? Answer(.serviceUnavailable, ["status": .string(word)]) : .storeAway
        var response = answer.response
        // The next request should find the server that has a store. Source: RFC 9112 §9.6.
        response.headers[.connection] = "close"
        return request.method == .head ? response.createHeadResponse() : response
    }
}
