import Gate
import Sessions
import Wire

/// When the numbers of the upstream status are published again.
struct StatusReporting: Sendable {
    static let interval = Duration.seconds(10)
    /// How long a change of the queue must last. Every message fills the queue for an instant.
    static let settling = Duration.seconds(1)

    private var queue: Int64 = 0
    private var refused: Int64 = 0
    private var toldAt: Duration?
    /// When the queue's depth began to differ from the published one.
    private var movedAt: Duration?
    /// The published state of board and session, and when it began.
    private var state: (up: Bool, available: Bool)?
    private var stateSince = Duration.zero
    private var timeSince: Timestamp?

    /// Forgets the published state: the connection has ended, and the last will has replaced the
    /// state.
    mutating func disconnected() { state = nil }

    /// When the published state began. The time changes only if the clock was set by more than
    /// two seconds, because the authority sends whole seconds.
    mutating func since(
        up: Bool, available: Bool, now time: Timestamp, at now: Duration
    ) -> Timestamp {
        if state?.up != up || state?.available != available {
            stateSince = now
            timeSince = nil
        }
        state = (up, available)
        let since = time - (now - stateSince)
        let known = timeSince ?? since
        let shift = since - known
        let told = (Duration.seconds(-2)...Duration.seconds(2)).contains(shift) ? known : since
        timeSince = told
        return told
    }

    /// Records the numbers of a published status.
    mutating func said(_ queue: Int64, _ refused: Int64) {
        self.queue = queue
        self.refused = refused
        movedAt = nil
    }

    mutating func told(at now: Duration) { toldAt = now }

    mutating func look(_ queue: Int64, at now: Duration) {
        if queue == self.queue { movedAt = nil } else { movedAt = movedAt ?? now }
    }

    /// When to publish the status for these numbers. Nil if the published numbers are current.
    func due(_ refused: Int64) -> Duration? {
        let earliest: Duration
        if refused != self.refused {
            earliest = .zero
        } else if let movedAt {
            earliest = movedAt + Self.settling
        } else {
            return nil
        }
        return max(earliest, toldAt.map { $0 + Self.interval } ?? .zero)
    }
}

extension Agent {
    /// The board report for the heartbeat with this id.
    mutating func report(by id: MessageID, at instant: Instant) -> BoardReport {
        let tellsRules = rules.news.tells(by: id)
        return BoardReport(
            queue: .init(
                messages: outbox.queue.messages, bytes: outbox.queue.bytes,
                oldest: outbox.queue.oldest,
                oldestAge: health(up: true, at: instant).oldestAge,
                hoursLeft: hoursLeft(at: instant)),
            refused: bus.refusals.total, refusals: bus.refusals.entries,
            rules: tellsRules ? .init(rules.policy) : nil,
            units: tellsRules ? DeclaredUnits(rules.policy) : .none, isShared: uplink.isShared,
            lastForwarded: outbox.lastForwarded, run: ownRun())
    }

    private func hoursLeft(at instant: Instant) -> Int64? {
        guard outbox.queue.messages > 0, let hours = queueOutlook(at: instant).hoursLeft else {
            return nil
        }
        let whole = Int64(hours)
        return whole <= BoardReport.Queue.mostHours ? whole : nil
    }

    /// The id of this process.
    private mutating func ownRun() -> MessageID? {
        if requests.run == nil, let id = freshID() { requests.begin(run: id) }
        return requests.run
    }

    /// When to publish the upstream status next. Nil while it is current.
    var statusDeadline: Duration? {
        uplink.isReady ? uplink.statusNews.due(bus.refusals.total) : nil
    }

    /// Publishes the status at once after a refusal, or after the queue's depth has differed for
    /// a second. Publishes at most every ten seconds.
    mutating func tellNumbersIfDue(at instant: Instant) {
        guard uplink.isReady else { return }
        uplink.statusNews.look(outbox.queue.messages, at: instant.monotonic)
        guard let due = statusDeadline, due <= instant.monotonic else { return }
        uplink.statusNews.told(at: instant.monotonic)
        publishStatus(up: true, at: instant)
    }
}
