import Gate
import Sessions
import Wire

extension Agent {
    /// Counts a refusal and returns the message for its app. It goes to the response topic if
    /// that belongs to the app, else to `…/rejected`. Nil: a later summary contains this refusal.
    mutating func tellRefusal(
        _ message: BusMessage, of app: AppName, _ rule: RuleID, _ notice: RejectionNotice,
        at instant: Instant
    ) -> BusPublication? {
        refusals.add(app, rule)
        bus.healthIsStale = true
        guard refusalPace.tells(notice, to: app, at: instant.monotonic), let id = freshID() else {
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
        refusals.add(nil, rule)
        bus.healthIsStale = true
    }

    /// When the next summary is due. Nil if there is none or the bus is away.
    var refusalDeadline: Duration? { bus.isConnected ? refusalPace.nextDeadline : nil }

    /// Publishes, for each app over its rate limit, how many more refusals occurred, once a
    /// second. `now` limits this to summaries that are due by then; nil: all.
    mutating func summarizeRefusals(due now: Duration?) {
        guard bus.isConnected else { return }
        for (app, summary) in refusalPace.takeSummaries(due: now) {
            guard let id = freshID() else { return }
            emit(.publishBus(BusPublication(
                topic: BusTopic.rejected(app),
                payload: summary.last.payload(id: id, count: summary.count), retain: false)))
            summariesSaid += 1
            // A faulty app must not fill the log: log summaries 1, 2, 4, 8, ….
            if summariesSaid & (summariesSaid - 1) == 0 {
                emit(.log(.warning, "\(app) is refused faster than it is told why "
                    + "(\(summary.last.rule)); \(refusals.total) refused so far, of all apps"))
            }
        }
    }
}
