import AuthorityCore
import AuthorityHTTP
import AuthorityStore
import LinuxIO
import Logging
import MQTT

/// Opens the store that `serve` is to work on and starts on it, and waits where that is a database
/// that is away: an authority that starts before its database is no fault of anybody's.
///
/// What another try does not mend is thrown at once: a wrong password, a database that is not
/// there, a master key that is another's.
struct StoreWait: Sendable {
    let settings: ServiceSettings
    let notifier: Notifier
    let logger: Logger

    /// What is to be done with the store before anything is served.
    typealias Start<Server: Sendable> = @Sendable (any ServiceStore) async throws -> Server

    struct Started<Server: Sendable>: Sendable {
        let server: Server
        /// Where there was a wait: a signal that came in it counts.
        let stop: StopSignal?
    }

    private static let shortest = Duration.seconds(1)
    private static let longest = Duration.seconds(30)

    /// How long to rest after so many failures, at least 1: doubled each time, and between half
    /// of it and all, so that replicas do not come in step.
    static func pause(after failures: Int, chance: Double) -> Duration {
        let doubled = shortest * (1 << min(max(failures - 1, 0), 5))
        return min(doubled, longest) * (0.5 + min(max(chance, 0), 1) / 2)
    }

    /// Both are done anew where the database goes away in between. Nil where the program is told
    /// to stop meanwhile.
    func open<Server>(
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
            // What it holds, the next one wants.
            try? store.close()
            throw error
        }
    }

    /// Nil where the task is cancelled. Requests are answered with 503 meanwhile.
    private func waited<Server: Sendable>(_ start: Start<Server>) async throws -> Server? {
        // It ends, and has given the port back, before this returns.
        async let _: Void = answerMeanwhile()
        return try await tryAgain(start)
    }

    /// Answers load balancers and people until its task is cancelled; in clear alone, because
    /// the certificate's key may be in the store.
    private func answerMeanwhile() async {
        guard settings.pageIdentity == nil, settings.ownHosts == nil else { return }
        do {
            try await StoreAwayServer(
                listen: (settings.listen.host, Int(settings.listen.port)), logger: logger
            ).run()
        } catch {
            logger.warning("HTTP is not answered while the database is away: \(error)")
        }
    }

    private func tryAgain<Server>(_ start: Start<Server>) async throws -> Server? {
        var failures = 1
        while true {
            await AuthorityService.pause(
                Self.pause(after: failures, chance: Double.random(in: 0...1)))
            guard !Task.isCancelled else { return nil }
            do {
                let server = try await attempt(start)
                logger.warning("the database is there", metadata: ["failures": "\(failures)"])
                return server
            } catch {
                guard !Task.isCancelled else { return nil }
                guard let words = Self.away(error) else { throw error }
                failures += 1
                tell(words, failures: failures)
            }
        }
    }

    /// In the log at the first failure and at each power of two; to the service manager each
    /// time, and that this takes longer.
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
