import AuthorityCore
import AuthorityStore
import Journal
import LinuxIO
import Logging
import NIOCore
import NIOPosix

/// Tells the service manager that the authority lives and how it is.
///
/// A sign of life is a proof, taken anew for each: the store's writer answers, every event loop
/// of HTTP turns, and the owner of the broker's connection answers. While one of them stands
/// still nothing is said, and the manager starts the service anew.
struct ServiceWatch: Sendable {
    let notifier: Notifier
    let store: SQLiteAuthorityStore
    let link: BrokerLink
    let journal: Journal

    /// Without a watchdog the status is all there is to tell.
    private static let statusRound = Duration.seconds(10)

    /// Works until its task is cancelled. Where nobody listens only the log is looked after.
    func run() async {
        var pulse = ServicePulse(isHeard: notifier.isHeard, watchdog: notifier.watchdogInterval)
        while !Task.isCancelled {
            if notifier.isHeard, let status = await prove() {
                notifier.say(pulse.beat(at: SystemClock.monotonic) { status })
            }
            journal.flush()
            let next = pulse.nextDeadline.map { $0 - SystemClock.monotonic }
            await pause(min(max(next ?? Self.statusRound, .milliseconds(100)), Self.statusRound))
        }
    }

    /// How the authority is; nil where the store does not do as it is asked, which its own
    /// complaints tell of. Does not return while a part stands still.
    private func prove() async -> String? {
        for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
            try? await loop.submit {}.get()
        }
        let broker = await link.isUp ? "broker connected" : "broker away"
        do throws(AuthorityError) {
            // On the connection that commits.
            _ = try await store.foreignVersion()
            let tally = try await store.tally()
            return "\(tally.boardsUp) of \(tally.boards) boards up; "
                + "\(tally.sessionsOfBoards) sessions; \(broker)"
        } catch {
            return nil
        }
    }
}
