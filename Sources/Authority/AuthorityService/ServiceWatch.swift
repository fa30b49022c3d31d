import AuthorityBroker
import AuthorityCore
import AuthorityStore
import LinuxIO
import Logging
import LogOutput
import NIOCore
import NIOPosix
import Synchronization

/// Reports to the service manager that the authority is alive, and its status.
///
/// Each sign of life follows a new check: the store's writer answers, every event loop of HTTP
/// turns, and the owner of the broker's connection answers. If one of them hangs, nothing is
/// reported, and the manager restarts the service.
struct ServiceWatch: Sendable {
    let notifier: Notifier
    let store: any ServiceStore
    let tally: TallyCache
    let link: BrokerLink
    let journal: LogWriter
    private let counted = Counted()

    init(
        notifier: Notifier, store: any ServiceStore, tally: TallyCache, link: BrokerLink,
        journal: LogWriter
    ) {
        self.notifier = notifier
        self.store = store
        self.tally = tally
        self.link = link
        self.journal = journal
    }

    /// Without a watchdog only the status is reported.
    private static let statusRound = Duration.seconds(10)

    /// Runs until its task is cancelled. Without a service manager it only flushes the log.
    func run() async {
        var pulse = ServicePulse(isHeard: notifier.isHeard, watchdog: notifier.watchdogInterval)
        async let counting: Void = count()
        while !Task.isCancelled {
            if notifier.isHeard, let status = await prove() {
                notifier.say(pulse.beat(at: SystemClock.monotonic) { status })
            }
            journal.flush()
            let next = pulse.nextDeadline.map { $0 - SystemClock.monotonic }
            await pause(min(max(next ?? Self.statusRound, .milliseconds(100)), Self.statusRound))
        }
        await counting
    }

    /// Counts for the status line, apart from the signs of life. So a slow or failed count does not
    /// delay them.
    private func count() async {
        while notifier.isHeard, !Task.isCancelled {
            // If a count fails, the previous one stays. The store's other users log the error.
            if let tally = try? await tally.counted().tally {
                counted.words.withLock {
                    $0 = "\(tally.boardsUp) of \(tally.boards) boards up; "
                        + "\(tally.sessionsOfBoards) sessions; "
                }
            }
            await pause(Self.statusRound)
        }
    }

    private final class Counted: Sendable {
        let words = Mutex("")
    }

    /// The status of the authority. Nil if the store is up but fails, which other parts log. Does
    /// not return while a part hangs.
    private func prove() async -> String? {
        for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
            try? await loop.submit {}.get()
        }
        let broker = await link.isUp ? "broker connected" : "broker not connected"
        do throws(AuthorityError) {
            // This uses the connection that commits.
            _ = try await store.foreignVersion()
            _ = try await store.latestTime()
            let full = store.isDiskFull ? "the disk is full; " : ""
            return full + counted.words.withLock { $0 } + broker
        } catch {
            // A restart does not bring the database back, and it would stop the work that needs no
            // database.
            guard case .failed(layer: StoreOpening.away, _) = error else { return nil }
            return "the database is not available; \(broker)"
        }
    }
}
