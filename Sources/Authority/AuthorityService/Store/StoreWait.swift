import AuthorityBroker
import AuthorityCore
import AuthorityHTTP
package import AuthorityStore
package import LinuxIO
package import Logging
package import MQTT

/// Opens the store for `serve` and starts the server on it. If the store is a database that is
/// down, it waits: an authority may start before its database.
///
/// Errors that a retry does not fix are thrown at once: a wrong password, a missing database, a
/// wrong master key.
package struct StoreWait: Sendable {
    let settings: ServiceSettings
    let notifier: Notifier
    let logger: Logger

    package init(settings: ServiceSettings, notifier: Notifier, logger: Logger) {
        (self.settings, self.notifier, self.logger) = (settings, notifier, logger)
    }

    /// The work on the store before anything is served.
    package typealias Start<Server: Sendable> = @Sendable (any ServiceStore) async throws -> Server

    package struct Started<Server: Sendable>: Sendable {
        package let server: Server
        /// Set if there was a wait: a signal during the wait counts.
        package let stop: StopSignal?
    }

    private static let shortest = Duration.seconds(1)
    private static let longest = Duration.seconds(30)

    /// The backoff after `failures` failures, at least 1. It doubles each time. The result is
    /// between half of it and all of it, so that replicas do not retry at the same moment.
    static func pause(after failures: Int, chance: Double) -> Duration {
        let doubled = shortest * (1 << min(max(failures - 1, 0), 5))
        return min(doubled, longest) * (0.5 + min(max(chance, 0), 1) / 2)
    }

    /// Opens and starts. If the database goes down in between, both are repeated. Nil if the
    /// program is asked to stop meanwhile.
    package func open<Server>(
        _ start: @escaping Start<Server>
    ) async throws -> Started<Server>? {
        do {
            return Started(server: try await attempt(start), stop: nil)
        } catch {
            guard let words = Self.away(error) else { throw error }
            tell(words, failures: 1)
        }
        let stop = StopSignal()
        return try await withThrowingTaskGroup(of: Started<Server>?.self) { group in
            group.addTask {
                await stop.wait()
                guard !Task.isCancelled else { return nil }
                notifier.stopping()
                stop.letSecondEnd()
                return nil
            }
            group.addTask {
                guard let server = try await waited(start) else { return nil }
                return Started(server: server, stop: stop)
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    private func attempt<Server>(_ start: Start<Server>) async throws -> Server {
        let store = try await StateFolder(settings).open()
        do {
            return try await start(store)
        } catch {
            // The next attempt needs the locks that this one holds.
            try? store.close()
            throw error
        }
    }

    /// Nil if the task is cancelled. Meanwhile requests are answered with 503.
    private func waited<Server: Sendable>(_ start: Start<Server>) async throws -> Server? {
        // That server has ended and released the port before this returns.
        async let _: Void = answerMeanwhile()
        return try await tryAgain(start)
    }

    /// Answers HTTP requests until its task is cancelled. It runs only without TLS, because the
    /// certificate's key may be in the store.
    private func answerMeanwhile() async {
        guard settings.pageIdentity == nil, settings.ownHosts == nil else { return }
        do {
            try await StoreAwayServer(
                listen: (settings.listen.host, Int(settings.listen.port)), logger: logger
            ).run()
        } catch {
            logger.warning("HTTP gives no answers without the database: \(error)")
        }
    }

    private func tryAgain<Server>(_ start: Start<Server>) async throws -> Server? {
        var failures = 1
        while true {
            await AuthorityBroker.pause(
                Self.pause(after: failures, chance: Double.random(in: 0...1)))
            guard !Task.isCancelled else { return nil }
            do {
                let server = try await attempt(start)
                logger.warning("the database is available", metadata: ["failures": "\(failures)"])
                return server
            } catch {
                guard !Task.isCancelled else { return nil }
                guard let words = Self.away(error) else { throw error }
                failures += 1
                tell(words, failures: failures)
            }
        }
    }

    /// Logs the first failure and each power of two. Reports each failure to the service manager,
    /// and extends its time limit.
    private func tell(_ words: String, failures: Int) {
        notifier.pause(.seconds(600))
        notifier.status("waits for the database")
        guard failures & (failures - 1) == 0 else { return }
        logger.warning(
            "waiting for the database: \(words)", metadata: ["failures": "\(failures)"])
    }

    private static func away(_ error: any Error) -> String? {
        guard case AuthorityError.failed(layer: StoreOpening.away, let text) = error else {
            return nil
        }
        return text
    }
}
