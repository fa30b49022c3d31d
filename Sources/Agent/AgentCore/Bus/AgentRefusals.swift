import Gate
import Sessions
import Wire

extension Agent {
    /// Counts a refusal. Returns what its app is told of it now: to the response topic if the
    /// app named one that is its own, else to `…/rejected`; nil where a summary will tell it.
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

    /// Counts a refusal that nobody can be told of: no topic is surely this app's.
    mutating func countUntold(_ rule: RuleID) {
        refusals.add(nil, rule)
        bus.healthIsStale = true
    }

    /// When a summary may be said; nil where there is none, or nobody to hear it.
    var refusalDeadline: Duration? { bus.isConnected ? refusalPace.nextDeadline : nil }

    /// Tells each app that was refused too often how many more it were, once a second; those
    /// that are due by `now`, or all.
    mutating func summarizeRefusals(due now: Duration?) {
        guard bus.isConnected else { return }
        for (app, summary) in refusalPace.takeSummaries(due: now) {
            guard let id = freshID() else { return }
            emit(.publishBus(BusPublication(
                topic: BusTopic.rejected(app),
                payload: summary.last.payload(id: id, count: summary.count), retain: false)))
            summariesSaid += 1
            // A mad app must not fill the log: 1, 2, 4, 8, … are said.
            if summariesSaid & (summariesSaid - 1) == 0 {
                emit(.log(.warning, "\(app) is refused faster than it is told why "
                    + "(\(summary.last.rule)); \(refusals.total) refused so far, of all apps"))
            }
        }
    }
}
