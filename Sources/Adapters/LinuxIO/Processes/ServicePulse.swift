/// Decides when a service sends its watchdog signal and its status to the service manager.
///
/// The loop calls `beat` after each whole turn, so a signal means progress: a loop that hangs sends
/// none. It has no clock; times are the monotonic clock's.
package struct ServicePulse: Sendable {
    /// The shortest time between two status messages.
    package static let statusInterval = Duration.seconds(1)

    private let isHeard: Bool
    /// Half of the watchdog's interval; nil without a watchdog. Source: sd_watchdog_enabled(3).
    private let interval: Duration?
    private var beatAt: Duration?
    private var told: String?
    private var lookedAt: Duration?
    /// Whether something has happened since the last read of the status.
    private var isStale = false

    /// `watchdog` is how long the manager waits for a watchdog signal. Nil: it has no watchdog.
    package init(isHeard: Bool, watchdog: Duration?) {
        self.isHeard = isHeard
        interval = isHeard ? watchdog.map { $0 / 2 } : nil
    }

    /// When to call `beat` even if nothing happens. Nil: no such call is needed.
    package var nextDeadline: Duration? {
        let look = isStale ? lookedAt.map { $0 + Self.statusInterval } : nil
        let life = interval.flatMap { span in beatAt.map { $0 + span } }
        return [look, life].compactMap(\.self).min()
    }

    /// Call it after each turn. Returns the messages to send now. It calls `status` at most once a
    /// second.
    package mutating func beat(at now: Duration, status: () -> String) -> [Notifier.Word] {
        guard isHeard else { return [] }
        // A turn that only its own deadline caused does not change the status.
        let isOwnTurn = nextDeadline.map { $0 <= now } ?? false
        var words: [Notifier.Word] = []
        if let interval, beatAt.map({ $0 + interval <= now }) ?? true {
            beatAt = now
            words.append(.watchdog)
        }
        if lookedAt.map({ $0 + Self.statusInterval <= now }) ?? true {
            lookedAt = now
            isStale = false
            let text = status()
            if text != told { words.append(.status(text)) }
            told = text
        } else if !isOwnTurn {
            isStale = true
        }
        return words
    }
}
