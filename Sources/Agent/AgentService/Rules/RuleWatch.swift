import AgentCore
import LinuxIO
import Logging

/// Watches the configuration folder, and reports when its two files are quiet after a change.
///
/// A file written in place counts only once it is closed: half a file may be well-formed with
/// fewer rules. If the folder cannot be watched, the log says so once, and SIGHUP still works.
struct RuleWatch: ~Copyable {
    private static let names: Set<String> = ["agent.toml", "policy.toml"]

    private let folder: String
    private let log: Logger
    private var watch: FolderWatch?
    private var slot: Int?
    private var delay = ChangeDelay()
    /// When to look again for a missing folder.
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

    /// Whether to read the files now.
    mutating func collect(_ poller: borrowing Poller, at now: Duration) -> Bool {
        if let slot, poller.isReadable(slot) { _ = take(at: now) }
        if let searchAt, searchAt <= now { begin(at: now) }
        guard let due = delay.due, due <= now, !isBeingWritten else { return false }
        delay.end()
        return true
    }

    /// Whether the files changed while they were read, or are being written. If so, they are read
    /// again soon.
    mutating func isDisturbed(at now: Duration) -> Bool {
        guard take(at: now) || isBeingWritten else { return false }
        delay.lookAgain(at: now)
        return true
    }

    /// Whether a file that was written to is still open. Closing it is a change.
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

    /// Begins to watch. This counts as a change, so earlier changes are found, too.
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
