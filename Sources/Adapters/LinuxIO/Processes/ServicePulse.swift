/// When a service tells its manager that it lives and how it is, and when there is no need to.
///
/// The loop calls `beat` after each whole turn, so a word of life means progress: a loop that
/// stands still says nothing. It keeps no clock; times are the monotonic clock's.
package struct ServicePulse: Sendable {
    /// The status is told at most so often.
    package static let statusInterval = Duration.seconds(1)

    private let isHeard: Bool
    /// Half of what the watchdog waits; nil without one. Source: sd_watchdog_enabled(3).
    private let interval: Duration?
    private var beatAt: Duration?
    private var told: String?
    private var lookedAt: Duration?
    /// Whether something has happened since the status was looked at.
    private var isStale = false

    /// `watchdog` is how long the manager waits for a sign of life; nil: it does not.
    package init(isHeard: Bool, watchdog: Duration?) {
        self.isHeard = isHeard
        interval = isHeard ? watchdog.map { $0 / 2 } : nil
    }

    /// When `beat` is wanted although nothing happens; nil where nobody asks for it.
    package var nextDeadline: Duration? {
        let look = isStale ? lookedAt.map { $0 + Self.statusInterval } : nil
        let life = interval.flatMap { span in beatAt.map { $0 + span } }
        return [look, life].compactMap(\.self).min()
    }

    /// A turn is done. Returns what the manager is to be told now; `status` is asked for at
    /// most once a second.
    package mutating func beat(at now: Duration, status: () -> String) -> [Notifier.Word] {
        guard isHeard else { return [] }
        // The turn that its own deadline made is no news.
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
