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

    /// Serves until its task is cancelled or `readiness` is closed; then open requests are
    /// finished. Throws the socket's error if the address cannot be bound.
    func run<Responder: HTTPResponder>(
        _ responder: Responder
    ) async throws where Responder.Context == ConsoleContext {
        let limiter = ConnectionLimiter(limits, proxies: proxies)
        let server = HTTPServerBuilder { responder in
            let clear = HTTP1Channel(
                responder: responder, configuration: Self.configuration(limiter))
            guard let certificate else { return clear }
            return TLSChannel(base: clear, certificate: certificate)
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(
                    service: application(responder, server),
                    successTerminationBehavior: .ignore)],
                logger: logger))
        readiness.onClose { Task { await group.triggerGracefulShutdown() } }
        do { try await group.run() } catch {
            // A closed listener ends without an error, however its last connection ended.
            guard readiness.isClosed else { throw error }
            logger.warning("HTTP did not end well: \(error)")
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
