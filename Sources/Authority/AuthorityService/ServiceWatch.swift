import AuthorityCore
import AuthorityStore
import LinuxIO
import Logging
import LogOutput
import NIOCore
import NIOPosix
import Synchronization

/// Tells the service manager that the authority lives and how it is.
///
/// A sign of life is a proof, taken anew for each: the store's writer answers, every event loop
/// of HTTP turns, and the owner of the broker's connection answers. While one of them stands
/// still nothing is said, and the manager starts the service anew.
struct ServiceWatch: Sendable {
    let notifier: Notifier
    let store: any ServiceStore
    let tally: TallyShelf
    let link: BrokerLink
    let journal: Journal
    private let counted = Counted()

    init(
        notifier: Notifier, store: any ServiceStore, tally: TallyShelf, link: BrokerLink,
        journal: Journal
    ) {
        self.notifier = notifier
        self.store = store
        self.tally = tally
        self.link = link
        self.journal = journal
    }

    /// Without a watchdog the status is all there is to tell.
    private static let statusRound = Duration.seconds(10)

    /// Works until its task is cancelled. Where nobody listens only the log is looked after.
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

    /// Counts for the status line, beside the signs of life: they depend neither on how long
    /// it takes nor on whether it can be done.
    private func count() async {
        while notifier.isHeard, !Task.isCancelled {
            // A count that fails leaves the one before; its layer complains where it matters.
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

    /// How the authority is; nil where the store is there and does not do as it is asked, which
    /// its own complaints tell of. Does not return while a part stands still.
    private func prove() async -> String? {
        for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
            try? await loop.submit {}.get()
        }
        let broker = await link.isUp ? "broker connected" : "broker away"
        do throws(AuthorityError) {
            // On the connection that commits.
            _ = try await store.foreignVersion()
            _ = try await store.latestTime()
            return counted.words.withLock { $0 } + broker
        } catch {
            // Another start brings no database back, and would cut off what goes on without one.
            guard case .failed(layer: StoreOpening.away, _) = error else { return nil }
            return "the database is away; \(broker)"
        }
    }
}
