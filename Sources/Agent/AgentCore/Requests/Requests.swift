import Sessions
import Wire

/// The board's requests that wait for an answer, and when the next ones are due.
struct Requests: Sendable {
    enum Kind: Sendable {
        case authenticate, refresh, list, saveConfiguration, getConfiguration
    }

    struct Pending: Sendable {
        let id: MessageID
        let kind: Kind
        var nextTry: Duration
        var backoff: Backoff
        /// When this process first sent the request. Nil: an earlier process may have sent it.
        let firstSent: Duration?
        /// How often this process has sent it.
        var sends = 0
        /// The earliest and latest issue time of the request, as sent with the clock set.
        var sentUnder: ClosedRange<Timestamp>?

        /// Whether any reply to this request is less than a minute old.
        func isRecent(at now: Duration) -> Bool {
            firstSent.map { now - $0 < .seconds(60) } ?? false
        }

        /// The authority's time, as a reply to this request says it.
        func sample(of reply: Reply, at now: Duration) -> ClockSample {
            let age = firstSent.map { now - $0 } ?? .zero
            return ClockSample(
                time: reply.now, age: reply.isExact ? age : age + .seconds(1),
                isExact: reply.isExact && sends == 1)
        }

        /// Whether the authority may have acted on the request before, although it now answers
        /// that the clock is wrong. Such an answer may be old and delayed.
        func mayHaveCounted(now time: Timestamp, at now: Duration) -> Bool {
            guard firstSent != nil else { return true }
            guard sentUnder != nil else { return false }
            return !(wasOff(by: time) && isRecent(at: now))
        }

        /// Whether the request's issue time explains why the authority found the clock wrong.
        func wasOff(by time: Timestamp) -> Bool {
            guard let sent = sentUnder else { return true }
            return sent.upperBound < time - Self.tolerance
                || sent.lowerBound > time + Self.tolerance
        }

        /// How far off a request's time may be. Source: the wire contract, Time and the clock.
        private static let tolerance = Duration.seconds(300)
    }

    private(set) var pending: [Pending] = []
    /// When the next heartbeat and the next refresh are due. Nil: not planned.
    private(set) var heartbeatAt: Duration?
    private(set) var refreshAt: Duration?
    /// False while the uplink is down: nothing is due then.
    private(set) var isActive = false
    /// When the last answer about the user's sessions arrived.
    private(set) var listedAt: Duration?
    /// The number of minutes for which the next heartbeat extends the session, counted from now.
    private(set) var minutes: Int64?
    /// Intervals that replace the authority's.
    private(set) var pace = RequestPace()
    /// Identifies this process to the authority. Nil before the first report.
    private(set) var run: MessageID?
    /// The access tokens that refreshes brought.
    var tokens = RefreshedTokens()
    /// Commands that wait for answers.
    var waits = CommandWaits()
    /// How many times in a row the authority has found the clock wrong.
    private var clockCorrections = 0
    /// The kinds of requests that an authority, restored from a backup, answered with "never
    /// issued".
    private var notIssued: Set<Kind> = []
    /// The backoff after a refresh of a session that the authority never issued. The next granted
    /// refresh resets it.
    private var refreshPause = Self.firstRefreshPause
    private static let firstRefreshPause = Backoff(first: .seconds(300), limit: .seconds(3600))

    /// Whether the authority does not know the session, because it was restored from a backup.
    var isNotIssued: Bool { !notIssued.isEmpty }

    var nextDeadline: Duration? {
        guard isActive else { return nil }
        let due = [heartbeatAt, isPending(.refresh) ? nil : refreshAt] + pending.map(\.nextTry)
        return due.compactMap(\.self).min()
    }

    func isPending(_ kind: Kind) -> Bool { pending.contains { $0.kind == kind } }

    /// Remembers a request that is being sent. It is repeated after `wait`, then by `backoff`.
    /// `isNew`: no earlier process and no earlier connection can have sent it.
    mutating func add(
        _ id: MessageID, _ kind: Kind, isNew: Bool, wait: Duration, backoff: Backoff,
        at now: Duration
    ) {
        let known = find(id)
        pending.removeAll { $0.kind == kind }
        pending.append(Pending(
            id: id, kind: kind, nextTry: now + wait, backoff: backoff,
            firstSent: isNew ? now : known?.firstSent, sends: known?.sends ?? 0,
            sentUnder: known?.sentUnder))
    }

    /// Records that a request is being sent. `time`: its issue time; nil with the clock unset.
    mutating func sent(_ id: MessageID, under time: Timestamp?) {
        for index in pending.indices where pending[index].id == id {
            pending[index].sends += 1
            guard let time else { continue }
            let sent = pending[index].sentUnder ?? time...time
            pending[index].sentUnder
                = min(sent.lowerBound, time)...max(sent.upperBound, time)
        }
    }

    /// Makes the next heartbeat a new one, which extends the session to this many minutes from
    /// now.
    mutating func extendNext(by minutes: Int64) {
        self.minutes = minutes
        pending.removeAll { $0.kind == .authenticate }
    }

    /// The next heartbeat extends nothing: the extension or its command was answered.
    mutating func forgetExtension() { minutes = nil }

    mutating func setHeartbeat(due time: Duration?) { heartbeatAt = time }
    mutating func setRefresh(due time: Duration?) { refreshAt = time }
    mutating func keep(_ pace: RequestPace) { self.pace = pace }
    mutating func begin(run: MessageID) { self.run = run }

    /// Records an answer about the user's sessions. Readers must not cause a request each: the
    /// next list is allowed after a heartbeat interval.
    mutating func listed(at now: Duration) { listedAt = now }

    /// Counts a correction of the clock. False: there were three in a row, so the clock is not
    /// the reason for the refusal.
    mutating func correctsClock() -> Bool {
        guard clockCorrections < 3 else { return false }
        clockCorrections += 1
        return true
    }

    mutating func neverIssued(_ kind: Kind) { notIssued.insert(kind) }

    /// Records that a request was granted.
    mutating func granted(_ kind: Kind) {
        clockCorrections = 0
        notIssued.remove(kind)
        if kind == .refresh { refreshPause = Self.firstRefreshPause }
    }

    /// The wait after a refused refresh. It grows each time, because a person must pair the board
    /// again.
    mutating func pauseOfRefresh() -> Duration { refreshPause.next(share: 0) }

    func find(_ id: MessageID) -> Pending? { pending.first { $0.id == id } }
    mutating func finish(_ id: MessageID) { pending.removeAll { $0.id == id } }

    func areDue(at now: Duration) -> Bool { pending.contains { $0.nextTry <= now } }

    /// Returns the requests to repeat now, and sets their next try. `share` is a random number
    /// from 0 to 1.
    mutating func due(at now: Duration, share: Double, spread: Duration) -> [Pending] {
        var due: [Pending] = []
        for index in pending.indices where pending[index].nextTry <= now {
            let wait = pending[index].backoff.next(share: share) + spread
            pending[index].nextTry = now + wait
            due.append(pending[index])
        }
        return due
    }

    /// Repeats all open requests now under their ids, because a person waits. Their backoff
    /// starts again.
    mutating func hasten(at now: Duration) {
        for index in pending.indices where pending[index].kind != .list {
            pending[index].nextTry = now
            pending[index].backoff.reset()
        }
    }

    /// Repeats the request no earlier than `time`.
    mutating func putOff(_ id: MessageID, until time: Duration) {
        for index in pending.indices where pending[index].id == id {
            pending[index].nextTry = time
        }
    }

    mutating func resume() {
        isActive = true
        pending.removeAll { $0.kind != .refresh }
    }

    mutating func pause() { isActive = false }

    mutating func forgetAll() {
        pending.removeAll()
        heartbeatAt = nil
        refreshAt = nil
        clockCorrections = 0
        minutes = nil
        tokens = RefreshedTokens()
        listedAt = nil
        notIssued = []
        refreshPause = Self.firstRefreshPause
    }
}
