import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Serves HTTP at one address: limits the connections, adds TLS, and ends in order.
///
/// With a certificate it serves HTTPS, else plain HTTP for loopback and a proxy there. It never
/// logs a body, a header, a path as it came, or a query.
struct HTTPListener: Sendable {
    let address: BindAddress
    let logger: Logger
    var certificate: ConsoleCertificate?
    var limits = ConnectionLimits()
    /// Addresses that may have any number of connections.
    var proxies: Set<String> = []
    /// Ends the listener when it is closed.
    var readiness = Readiness()
    /// Gets the port once connections are accepted; 0 at a Unix socket.
    var onListening: @Sendable (Int) async -> Void = { _ in }

    /// How many connections may still be closing when the next one is accepted.
    private static let closing = 64

    /// How long open requests may go on after the task was cancelled.
    private static let patience = Duration.seconds(2)

    /// Serves until `readiness` is closed; then open requests are finished. Also ends when its task
    /// is cancelled; then open requests have two seconds. Throws the socket's error if the address
    /// cannot be bound.
    func run<Responder: HTTPResponder>(
        _ responder: Responder
    ) async throws where Responder.Context == ConsoleContext {
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(
                    service: application(responder, builder()),
                    successTerminationBehavior: .ignore)],
                logger: logger))
        readiness.onClose { Task { await group.triggerGracefulShutdown() } }
        // Cancelling Hummingbird while a connection arrives is a trap: NIO's channel of that
        // connection is freed unused. So the listening socket is closed first.
        let serving = Task { try await group.run() }
        let ended = await withTaskCancellationHandler {
            await serving.result
        } onCancel: {
            Task {
                await group.triggerGracefulShutdown()
                try? await Task.sleep(for: Self.patience)
                serving.cancel()
            }
        }
        do { try ended.get() } catch {
            // A closed listener ends without an error, however its last connection ended.
            guard readiness.isClosed || Task.isCancelled else { throw error }
            if !Task.isCancelled { logger.warning("the HTTP server ended with an error: \(error)") }
        }
    }

    /// Builds HTTP/1.1 with the connection limits, and TLS if there is a certificate.
    private func builder() -> HTTPServerBuilder {
        let limiter = ConnectionLimiter(limits, proxies: proxies)
        return HTTPServerBuilder { responder in
            let clear = HTTP1Channel(
                responder: responder, configuration: Self.configuration(limiter))
            guard let certificate else { return clear }
            return TLSChannel(base: clear, certificate: certificate)
        }
    }

    private func application<Responder: HTTPResponder>(
        _ responder: Responder, _ server: HTTPServerBuilder
    ) -> Application<Responder> where Responder.Context == ConsoleContext {
        Application(
            responder: responder,
            server: server,
            configuration: ApplicationConfiguration(
                address: address,
                availableConnectionsDelegate: .maximum(
                    limits.all + Self.closing, logger: logger)),
            onServerRunning: { [onListening] channel in
                await onListening(channel.localAddress?.port ?? 0)
            },
            logger: logger)
    }

    /// Headers may have 16 KiB in 64 lines, with 8 KiB in one. A connection is closed after 30 s
    /// without traffic.
    private static func configuration(_ limiter: ConnectionLimiter) -> HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [ConnectionLimitHandler(limiter), MalformedRequestHandler()],
            idleTimeout: .seconds(30),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 8 * 1024, maxHeaderListSize: 16 * 1024,
                maxHeaderFieldCount: 64))
    }
}
