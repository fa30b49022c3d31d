import Gate
import Sessions
import Wire

/// Which rules the authority has received over this connection, so that no heartbeat repeats
/// them.
struct RulesNews: Sendable {
    /// The number of the current policy. Each adopted policy has the next number.
    private var current = 0
    private var answered: Int?
    /// The heartbeat in flight and the policy number that it sent. Nil: it sent two different
    /// policies under one id.
    private var told: (by: MessageID, policy: Int?)?

    mutating func changed() { current += 1 }

    mutating func connected() {
        answered = nil
        told = nil
    }

    /// Whether the heartbeat with this id must contain the rules. A repeated heartbeat contains
    /// the current rules, but its answer may belong to the earlier ones.
    mutating func tells(by id: MessageID) -> Bool {
        guard answered != current else { return false }
        if let told, told.by == id {
            if told.policy != current { self.told = (id, nil) }
        } else {
            told = (id, current)
        }
        return true
    }

    mutating func answered(_ id: MessageID) {
        guard let told, told.by == id else { return }
        if let policy = told.policy { answered = policy }
        self.told = nil
    }
}

/// When the numbers of the upstream status are published again.
struct StatusNews: Sendable {
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
        BoardReport(
            queue: .init(
                messages: queue.messages, bytes: queue.bytes, oldest: queue.oldest,
                oldestAge: health(up: true, at: instant).oldestAge),
            refused: refusals.total, refusals: refusals.entries,
            rules: rulesNews.tells(by: id) ? .init(policy) : nil, isShared: uplink.isShared,
            lastForwarded: lastForwarded, run: ownRun())
    }

    /// The id of this process.
    private mutating func ownRun() -> MessageID? {
        if run == nil { run = freshID() }
        return run
    }

    /// When to publish the upstream status next. Nil while it is current.
    var statusDeadline: Duration? {
        uplink.isReady ? statusNews.due(refusals.total) : nil
    }

    /// Publishes the status at once after a refusal, or after the queue's depth has differed for
    /// a second. Publishes at most every ten seconds.
    mutating func tellNumbersIfDue(at instant: Instant) {
        guard uplink.isReady else { return }
        statusNews.look(queue.messages, at: instant.monotonic)
        guard let due = statusDeadline, due <= instant.monotonic else { return }
        statusNews.told(at: instant.monotonic)
        publishStatus(up: true, at: instant)
    }
}
