import Gate
import Wire

/// The rate limit for refusal messages to an app. Each refusal has its own message while the
/// app's bucket allows it. One summary a second covers the others.
///
/// An app is removed once its bucket is full again, which changes nothing. If more than
/// `appLimit` apps are refused at once, the others share a bucket and get no summary.
struct RefusalPace: Sendable {
    /// The limit for one app: 100 messages a second, and a burst of 500 after a quiet time.
    static let interval = Duration.milliseconds(10)
    static let burst = 500
    static let summaryInterval = Duration.seconds(1)
    static let appLimit = 256

    /// Refusals without a message of their own.
    struct Summary: Sendable {
        var last: RejectionNotice
        var count: Int64
        let due: Duration
    }

    /// When each app's bucket is full again, and when the shared bucket is.
    private var fullAt: [AppName: Duration] = [:]
    private var sharedFullAt: Duration?
    private var summaries: [AppName: Summary] = [:]

    /// When the next summary is due. Nil: there is none.
    var nextDeadline: Duration? { summaries.values.lazy.map(\.due).min() }

    /// Whether this refusal gets its own message; if not, the summary counts it. `now` never goes
    /// back.
    mutating func tells(_ notice: RejectionNotice, to app: AppName, at now: Duration) -> Bool {
        guard hasRoom(for: app, at: now) else { return Self.take(from: &sharedFullAt, at: now) }
        if Self.take(from: &fullAt[app], at: now) { return true }
        let due = summaries[app]?.due ?? now + Self.summaryInterval
        let count = summaries[app]?.count ?? 0
        summaries[app] = Summary(last: notice, count: count + 1, due: due)
        return false
    }

    private static func take(from fullAt: inout Duration?, at now: Duration) -> Bool {
        let full = max(fullAt ?? now, now) + interval
        guard full - now <= interval * burst else { return false }
        fullAt = full
        return true
    }

    private mutating func hasRoom(for app: AppName, at now: Duration) -> Bool {
        if fullAt[app] != nil { return true }
        if fullAt.count >= Self.appLimit {
            fullAt = fullAt.filter { app, full in full > now || summaries[app] != nil }
        }
        return fullAt.count < Self.appLimit
    }

    /// Removes and returns the summaries that are due by `now`, sorted by app name. Nil: all.
    mutating func takeSummaries(due now: Duration?) -> [(app: AppName, summary: Summary)] {
        let due = summaries.filter { entry in now.map { entry.value.due <= $0 } ?? true }
        for app in due.keys { summaries[app] = nil }
        return due.map { (app: $0.key, summary: $0.value) }
            .sorted { $0.app.description < $1.app.description }
    }
}
