/// One kind of request, as a fleet made it.
struct RequestTally: Sendable {
    /// New ones; those that were sent again are not among them.
    var asked = 0
    /// Of those whose first reply was not thrown away on purpose.
    var times = AnswerTimes()
    var answered = 0
    /// Sent again under their id.
    var repeated = 0
    /// Answers that said "later" (155).
    var overloaded = 0
    /// Given up with the connection they were asked over, as a heartbeat may be.
    var cut = 0

    mutating func merge(_ other: RequestTally) {
        asked += other.asked
        times.merge(other.times)
        answered += other.answered
        repeated += other.repeated
        overloaded += other.overloaded
        cut += other.cut
    }
}

/// A fault that was put in, and what came of it.
struct InjectionTally: Equatable, Sendable {
    var injected = 0
    /// It came out as the contract has it.
    var right = 0
    /// It came out otherwise.
    var wrong = 0

    /// Nothing came of these, or not yet: a connection was cut, or the load ended.
    var open: Int { max(0, injected - right - wrong) }

    mutating func merge(_ other: InjectionTally) {
        injected += other.injected
        right += other.right
        wrong += other.wrong
    }
}

/// What a fleet, or a part of it, has done and met.
struct FleetTally: Sendable {
    var heartbeats = RequestTally()
    var refreshes = RequestTally()
    /// Replies that the board did not see; right: the repeated request had the same answer.
    var lostReplies = InjectionTally()
    /// Right: the same reply came, and nothing else.
    var replays = InjectionTally()
    /// Right: the session was revoked with the reason "reuse".
    var thefts = InjectionTally()
    /// Thieves who were told 209.
    var thievesTold = 0
    /// Right: the board was told the time, set its clock and got its answer.
    var clocks = InjectionTally()
    /// Bytes of MQTT payload: requests at their first sending, and replies.
    var bytes = (requests: 0, replies: 0)
    /// Times that connections were cut on purpose.
    var storms = 0
    var cuts = 0
    /// Tries to connect by the second in which they were made, once the load has begun.
    var tries: [Int64: Int] = [:]
    var connects = 0
    var disconnects = 0
    /// Sessions that somebody ended who is no thief of ours.
    var endedByOthers = 0
    /// What went wrong and was made good, and what was not, by layer.
    var errors = FaultLedger()
    /// What the contract does not allow, whatever the network does.
    var violations = FaultLedger()

    /// The most tries to connect within one second.
    var peakTries: Int { tries.values.max() ?? 0 }

    subscript(_ kind: FleetRequest.Kind) -> RequestTally {
        get { kind == .heartbeat ? heartbeats : refreshes }
        set { if kind == .heartbeat { heartbeats = newValue } else { refreshes = newValue } }
    }

    mutating func merge(_ other: FleetTally) {
        heartbeats.merge(other.heartbeats)
        refreshes.merge(other.refreshes)
        lostReplies.merge(other.lostReplies)
        replays.merge(other.replays)
        thefts.merge(other.thefts)
        thievesTold += other.thievesTold
        clocks.merge(other.clocks)
        bytes.requests += other.bytes.requests
        bytes.replies += other.bytes.replies
        storms = max(storms, other.storms)
        cuts += other.cuts
        tries.merge(other.tries) { $0 + $1 }
        connects += other.connects
        disconnects += other.disconnects
        endedByOthers += other.endedByOthers
        errors.merge(other.errors)
        violations.merge(other.violations)
    }
}
