import Gate
import Sessions
import Wire

/// The refused writes, and how their apps receive the reasons.
struct Refusals: Sendable {
    private var tally = RefusalTally()
    private var pace = RefusalPace()
    private var summaries: Int64 = 0

    var total: Int64 { tally.total }
    var entries: [RefusalCount] { tally.entries }
    /// When the next summary is due. Nil: there is none.
    var nextSummary: Duration? { pace.nextDeadline }

    mutating func add(_ app: AppName?, _ rule: RuleID) { tally.add(app, rule) }

    /// Whether this refusal gets its own message; if not, the summary counts it.
    mutating func tells(_ notice: RejectionNotice, to app: AppName, at now: Duration) -> Bool {
        pace.tells(notice, to: app, at: now)
    }

    /// Removes and returns the summaries that are due by `now`. Nil: all.
    mutating func takeSummaries(
        due now: Duration?
    ) -> [(app: AppName, summary: RefusalPace.Summary)] {
        pace.takeSummaries(due: now)
    }

    /// Counts a published summary. Returns whether to log it: a faulty app must not fill the log,
    /// so the log has summaries 1, 2, 4, 8, ….
    mutating func summarized() -> Bool {
        summaries += 1
        return summaries & (summaries - 1) == 0
    }
}

extension Agent {
    /// Counts a refusal and returns the message for its app. It goes to the response topic if
    /// that belongs to the app, else to `…/rejected`. Nil: a later summary contains this refusal.
    mutating func tellRefusal(
        _ message: BusMessage, of app: AppName, _ rule: RuleID, _ notice: RejectionNotice,
        at instant: Instant
    ) -> BusPublication? {
        bus.refusals.add(app, rule)
        bus.health.changed()
        guard bus.refusals.tells(notice, to: app, at: instant.monotonic), let id = freshID() else {
            return nil
        }
        let isCarried = BusPublication.carries(message.correlation)
        let response = message.responseTopic.flatMap { topic in
            isCarried && BusTopic.isResponse(topic, for: app) ? topic : nil
        }
        return BusPublication(
            topic: response ?? BusTopic.rejected(app), payload: notice.payload(id: id),
            retain: false, correlation: isCarried ? message.correlation : nil)
    }

    /// Counts a refusal without a message, because no topic certainly belongs to the app.
    mutating func countUntold(_ rule: RuleID) {
        bus.refusals.add(nil, rule)
        bus.health.changed()
    }

    /// When the next summary is due. Nil if there is none or the bus is away.
    var refusalDeadline: Duration? { bus.isConnected ? bus.refusals.nextSummary : nil }

    /// Publishes, for each app over its rate limit, how many more refusals occurred, once a
    /// second. `now` limits this to summaries that are due by then; nil: all.
    mutating func summarizeRefusals(due now: Duration?) {
        guard bus.isConnected else { return }
        for (app, summary) in bus.refusals.takeSummaries(due: now) {
            guard let id = freshID() else { return }
            emit(.publishBus(BusPublication(
                topic: BusTopic.rejected(app),
                payload: summary.last.payload(id: id, count: summary.count), retain: false)))
            if bus.refusals.summarized() {
                emit(.log(.warning, "writes of \(app) are refused faster than notices are sent "
                    + "(\(summary.last.rule)); \(bus.refusals.total) refused so far, of all apps"))
            }
        }
    }
}
