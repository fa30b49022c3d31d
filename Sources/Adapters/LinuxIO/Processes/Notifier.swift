import Glibc

/// Tells systemd how the service is doing; silent where systemd did not start it.
///
/// The protocol is one datagram of `NAME=value` lines to the socket that `NOTIFY_SOCKET`
/// names, a path or (first byte `@`) an abstract name. Source: sd_notify(3).
package struct Notifier: Sendable {
    private let path: String?
    /// How often `watchdog` is expected at the latest; `nil` without a watchdog. Call it
    /// twice as often. Source: sd_watchdog_enabled(3).
    package let watchdogInterval: Duration?

    /// Reads the environment that systemd made.
    package init() {
        self.init(socket: Environment.value("NOTIFY_SOCKET"),
                  watchdogMicroseconds: Environment.value("WATCHDOG_USEC"),
                  watchdogProcess: Environment.value("WATCHDOG_PID"))
    }

    init(socket: String?, watchdogMicroseconds: String?, watchdogProcess: String?) {
        path = socket
        let isOurs = watchdogProcess.map { Int32($0) == getpid() } ?? true
        let interval = watchdogMicroseconds.flatMap { Int64($0) } ?? 0
        watchdogInterval = isOurs && interval > 0 ? .microseconds(interval) : nil
    }

    /// Whether somebody listens.
    package var isHeard: Bool { path != nil }

    package func ready() { send("READY=1") }
    package func stopping() { send("STOPPING=1") }
    package func watchdog() { send("WATCHDOG=1") }

    /// One line for `systemctl status`. A line break in it becomes a space.
    package func status(_ text: String) { send(Word.status(text).line) }

    /// What follows may take this long without a word: starting, stopping, and the watchdog,
    /// which waits so long once more from now on. `resume` ends it.
    ///
    /// Source: sd_notify(3), EXTEND_TIMEOUT_USEC and WATCHDOG_USEC.
    package func pause(_ span: Duration) {
        let microseconds = span.components.seconds * 1_000_000
        var lines = ["EXTEND_TIMEOUT_USEC=\(microseconds)"]
        if watchdogInterval != nil { lines.append("WATCHDOG_USEC=\(microseconds)") }
        send(lines.joined(separator: "\n"))
    }

    /// The watchdog waits as long as it did before `pause`.
    package func resume() {
        guard let parts = watchdogInterval?.components else { return }
        let microseconds = parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000
        send("WATCHDOG_USEC=\(microseconds)\nWATCHDOG=1")
    }

    /// All of it in one datagram; none for nothing.
    package func say(_ words: [Word]) {
        if !words.isEmpty { send(words.map(\.line).joined(separator: "\n")) }
    }

    /// What a running service says again and again.
    package enum Word: Equatable, Sendable {
        case watchdog
        case status(String)

        /// A line break in a text would be another word.
        var line: String {
            switch self {
            case .watchdog: "WATCHDOG=1"
            case .status(let text): "STATUS=" + String(text.map { $0.isNewline ? " " : $0 })
            }
        }
    }

    private func send(_ message: String) {
        guard let path, let address = UnixAddress(path) else { return }
        let raw = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard raw >= 0 else { return }
        let handle = Descriptor(owning: raw)
        let bytes = Array(message.utf8)
        // Nothing to be done when it fails: the watchdog will speak for us.
        _ = unsafe address.withPointer { pointer, length in
            let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
            return unsafe Int32(truncatingIfNeeded: sendto(
                handle.raw, bytes, bytes.count, flags, pointer, length))
        }
    }
}
