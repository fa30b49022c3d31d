import Glibc

/// Reports the service's state to systemd. Does nothing if systemd did not start the service.
///
/// The protocol is one datagram of `NAME=value` lines to the socket in `NOTIFY_SOCKET`. That is a
/// path or, with first byte `@`, an abstract name. Source: sd_notify(3).
package struct Notifier: Sendable {
    private let path: String?
    /// The longest time between two `watchdog` calls; `nil` without a watchdog. Call it twice as
    /// often. Source: sd_watchdog_enabled(3).
    package let watchdogInterval: Duration?

    /// Reads the variables that systemd set.
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

    /// Whether systemd listens.
    package var isHeard: Bool { path != nil }

    package func ready() { send("READY=1") }
    package func stopping() { send("STOPPING=1") }
    package func watchdog() { send("WATCHDOG=1") }

    /// Sets the line in `systemctl status`. A line break in it becomes a space.
    package func status(_ text: String) { send(Word.status(text).line) }

    /// Extends the time limits for starting, stopping and the watchdog to `span` from now. `resume`
    /// ends it for the watchdog.
    ///
    /// Source: sd_notify(3), EXTEND_TIMEOUT_USEC and WATCHDOG_USEC.
    package func pause(_ span: Duration) {
        let microseconds = span.components.seconds * 1_000_000
        var lines = ["EXTEND_TIMEOUT_USEC=\(microseconds)"]
        if watchdogInterval != nil { lines.append("WATCHDOG_USEC=\(microseconds)") }
        send(lines.joined(separator: "\n"))
    }

    /// Sets the watchdog back to its interval before `pause`.
    package func resume() {
        guard let parts = watchdogInterval?.components else { return }
        let microseconds = parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000
        send("WATCHDOG_USEC=\(microseconds)\nWATCHDOG=1")
    }

    /// Sends all words in one datagram. Sends nothing for an empty list.
    package func say(_ words: [Word]) {
        if !words.isEmpty { send(words.map(\.line).joined(separator: "\n")) }
    }

    /// A message that a running service sends repeatedly.
    package enum Word: Equatable, Sendable {
        case watchdog
        case status(String)

        /// A line break would begin a new `NAME=value` line, so it becomes a space.
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
        // A failure is ignored: the watchdog then restarts the service.
        _ = unsafe address.withPointer { pointer, length in
            let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
            return unsafe Int32(truncatingIfNeeded: sendto(
                handle.raw, bytes, bytes.count, flags, pointer, length))
        }
    }
}
