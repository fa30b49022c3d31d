import AuthorityBroker
import AuthorityCore
import AuthorityHTTP
import ConfigurationFiles
import Foundation
import LinuxIO
import Logging
import MetricsServer

/// Serves the authority's metrics until its task is cancelled.
///
/// If the address cannot be bound, it logs an error; the rest of the authority goes on.
struct MetricsService: Sendable {
    let place: MetricsPlace
    let logger: Logger
    let collect: @Sendable () async throws(AuthorityError) -> AuthorityMetrics

    func run() async {
        do {
            try await serve()
        } catch {
            logger.error("metrics are not available: \(error)")
        }
        // The first part of the authority that ends, ends all.
        while !Task.isCancelled { await pause(.seconds(3600)) }
    }

    private func serve() async throws {
        switch place {
        case .port(let host, let port):
            try await MetricsListener(
                host: host, port: Int(port), logger: logger, collect: metrics
            ).run()
        case .socket(let path):
            try ControlSocket.clear(path)
            defer { try? FileManager.default.removeItem(atPath: path) }
            try await MetricsListener(
                path: path, logger: logger, onListening: { open(path) }, collect: metrics
            ).run()
        }
    }

    /// Lets the socket's group connect. Until then only the owner can.
    private func open(_ path: String) {
        do {
            try FileManager.default.setAttributes([.posixPermissions: 0o660], ofItemAtPath: path)
        } catch {
            logger.error("only the owner can use the socket for metrics: \(error)")
        }
    }

    private func metrics() async -> MetricsText? {
        do throws(AuthorityError) {
            return try await collect().text
        } catch {
            // Only the log receives the store's location and its error.
            logger.error("metrics are not available: \(error.words)")
            return nil
        }
    }
}
