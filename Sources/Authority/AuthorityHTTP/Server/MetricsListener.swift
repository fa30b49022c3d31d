import Hummingbird
package import Logging
package import MetricsServer
import Sessions

/// Serves the authority's metrics to Prometheus: `GET /metrics`, at an address of its own.
///
/// Metrics show how much an authority is used. So this address is a loopback port or a Unix socket,
/// never the address that people use.
package struct MetricsListener: Sendable {
    /// The current metrics; nil while the store is away.
    package typealias Collect = @Sendable () async -> MetricsText?

    private let listener: HTTPListener
    private let responder: MetricsResponder

    /// Listens at a port of this machine.
    package init(
        host: String, port: Int, logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in },
        collect: @escaping Collect
    ) {
        listener = HTTPListener(
            address: .hostname(host, port: port), logger: logger, limits: Self.limits,
            onListening: onListening)
        responder = MetricsResponder(checksHost: true, collect: collect)
    }

    /// Listens at a Unix socket. A file at this path is replaced.
    package init(
        path: String, logger: Logger,
        onListening: @escaping @Sendable () async -> Void = {},
        collect: @escaping Collect
    ) {
        listener = HTTPListener(
            address: .unixDomainSocket(path: path), logger: logger, limits: Self.limits,
            onListening: { _ in await onListening() })
        responder = MetricsResponder(checksHost: false, collect: collect)
    }

    /// Serves until its task is cancelled. Throws the socket's error if the address is taken.
    package func run() async throws { try await listener.run(responder) }

    private static let limits = ConnectionLimits(all: 16, each: 16, header: .seconds(5))
}

private struct MetricsResponder: HTTPResponder {
    typealias Context = ConsoleContext

    /// Whether the request must name this machine as its host. A hostile page can point a domain
    /// name to 127.0.0.1, and so send a browser to a loopback port. Such a request names another
    /// host.
    let checksHost: Bool
    let collect: MetricsListener.Collect

    func respond(to request: Request, context: ConsoleContext) async -> Response {
        let response = await answer(request).response
        return request.method == .head ? response.createHeadResponse() : response
    }

    /// Source: RFC 9110 §15.5.20 (421).
    private func answer(_ request: Request) async -> Answer {
        if checksHost, !ScrapeRequest.isLoopback(request.head.authority?.lowercased() ?? "") {
            return Answer(
                .misdirectedRequest, Refusal(.forbidden, "use a loopback host name"))
        }
        guard request.uri.path == "/metrics" else { return .noRoute }
        guard request.method == .get || request.method == .head else {
            return .noMethod(allowed: [.get])
        }
        return await collect().map(Answer.init(metrics:)) ?? .storeAway
    }
}
