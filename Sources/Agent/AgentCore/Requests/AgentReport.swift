import Gate
import Sessions
import Wire

/// Which rules the authority has heard of over this connection, so that a heartbeat repeats
/// none.
struct RulesNews: Sendable {
    /// Counts the policies of this process: each that is adopted is another.
    private var current = 0
    private var answered: Int?
    /// The heartbeat that is under way and what it told; nil: two things, under one id.
    private var told: (by: MessageID, policy: Int?)?

    mutating func changed() { current += 1 }

    mutating func connected() {
        answered = nil
        told = nil
    }

    /// Whether the heartbeat of this id is to tell the rules. One that is repeated tells what
    /// is so by now, and its answer may be to what it told before.
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

/// When the numbers of the status upstream are told anew.
struct StatusNews: Sendable {
    static let interval = Duration.seconds(10)
    /// A queue that fills for an instant, as with every message, is no news.
    static let settling = Duration.seconds(1)

    private var queue: Int64 = 0
    private var refused: Int64 = 0
    private var toldAt: Duration?
    /// Since when the queue is not as told.
    private var movedAt: Duration?
    /// What the status says of board and session, and since when it has said so.
    private var state: (up: Bool, available: Bool)?
    private var stateSince = Duration.zero
    private var timeSince: Timestamp?

    /// The connection is gone, and a last will has said so.
    mutating func disconnected() { state = nil }

    /// Since when the state that is being told has stood. Told anew only where the clock was
    /// set by more than the authority's whole seconds do to it.
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

    /// Notes that a status said this.
    mutating func said(_ queue: Int64, _ refused: Int64) {
        self.queue = queue
        self.refused = refused
        movedAt = nil
    }

    mutating func told(at now: Duration) { toldAt = now }

    mutating func look(_ queue: Int64, at now: Duration) {
        if queue == self.queue { movedAt = nil } else { movedAt = movedAt ?? now }
    }

    /// When the status is to be published for these numbers; nil where it says them.
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
    /// What a heartbeat of this id tells of the board.
    mutating func report(by id: MessageID, at instant: Instant) -> BoardReport {
        BoardReport(
            queue: .init(
                messages: queue.messages, bytes: queue.bytes, oldest: queue.oldest,
                oldestAge: health(up: true, at: instant).oldestAge),
            refused: refusals.total, refusals: refusals.entries,
            rules: rulesNews.tells(by: id) ? .init(policy) : nil, isShared: uplink.isShared,
            lastForwarded: lastForwarded, run: ownRun())
    }

    /// What names this process.
    private mutating func ownRun() -> MessageID? {
        if run == nil { run = freshID() }
        return run
    }

    /// When the status upstream may say new numbers; nil while it says what is so.
    var statusDeadline: Duration? {
        uplink.isReady ? statusNews.due(refusals.total) : nil
    }

    /// At once where something was refused, once the queue's depth has stood for a second, and
    /// then at most every ten seconds.
    mutating func tellNumbersIfDue(at instant: Instant) {
        guard uplink.isReady else { return }
        statusNews.look(queue.messages, at: instant.monotonic)
        guard let due = statusDeadline, due <= instant.monotonic else { return }
        statusNews.told(at: instant.monotonic)
        publishStatus(up: true, at: instant)
    }
}
