import AgentCore
import LinuxIO
import Logging

/// Watches the configuration folder, and says when its two files rest after a change.
///
/// A file that is written to in place counts once it is closed: half a file may be a
/// well-formed one with fewer rules. Where the folder cannot be watched, this is said once, and
/// SIGHUP still works.
struct RuleWatch: ~Copyable {
    private static let names: Set<String> = ["agent.toml", "policy.toml"]

    private let folder: String
    private let log: Logger
    private var watch: FolderWatch?
    private var slot: Int?
    private var delay = ChangeDelay()
    /// When a folder that is gone is looked for again.
    private var searchAt: Duration?
    private var search = Backoff(first: .seconds(1), limit: .seconds(60))

    init(folder: String, log: Logger) {
        self.folder = folder
        self.log = log
        begin(at: SystemClock.monotonic)
    }

    private var isBeingWritten: Bool { mutating get { watch?.isBeingWritten ?? false } }

    var nextDeadline: Duration? {
        mutating get { [isBeingWritten ? nil : delay.due, searchAt].compactMap(\.self).min() }
    }

    mutating func register(in poller: inout Poller) {
        slot = nil
        if let descriptor = watch?.descriptor {
            slot = poller.add(descriptor, read: true, write: false)
        }
    }

    /// Whether the files are to be read now.
    mutating func collect(_ poller: borrowing Poller, at now: Duration) -> Bool {
        if let slot, poller.isReadable(slot) { _ = take(at: now) }
        if let searchAt, searchAt <= now { begin(at: now) }
        guard let due = delay.due, due <= now, !isBeingWritten else { return false }
        delay.end()
        return true
    }

    /// Whether what has just been read may be no whole state of the files; then they are read
    /// again soon.
    mutating func isDisturbed(at now: Duration) -> Bool {
        guard take(at: now) || isBeingWritten else { return false }
        delay.lookAgain(at: now)
        return true
    }

    /// Whether a file is open that has been written to. Its closing is a change.
    mutating func isHalfWritten(at now: Duration) -> Bool {
        _ = take(at: now)
        return isBeingWritten
    }

    private mutating func take(at now: Duration) -> Bool {
        guard let news = watch?.take() else { return false }
        if news.isLost {
            watch = nil
            begin(at: now)
        }
        guard news.hasChanged || news.isLost else { return false }
        delay.changed(at: now)
        return true
    }

    /// What changed before the watch began is looked for, too.
    private mutating func begin(at now: Duration) {
        searchAt = nil
        do throws(SystemError) {
            watch = try FolderWatch(folder, names: Self.names)
            search.reset()
            delay.changed(at: now)
        } catch {
            if error.isMissing {
                searchAt = now + search.next(share: 0)
            } else {
                log.warning("""
                    \(folder) cannot be watched for changes (\(error)): after a change of \
                    agent.toml or policy.toml send SIGHUP
                    """)
            }
        }
    }
}
