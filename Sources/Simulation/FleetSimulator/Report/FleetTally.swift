/// Counts for one kind of request.
struct RequestTally: Sendable {
    /// New requests. Repeated ones are not counted here.
    var asked = 0
    /// Answer times, without requests whose first reply was dropped on purpose.
    var times = AnswerTimes()
    var answered = 0
    /// Requests that were sent again with the same id.
    var repeated = 0
    /// Answers with the error 155: ask later.
    var overloaded = 0
    /// Heartbeats that the agent dropped when their connection ended.
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

/// Counts for one kind of injected fault.
struct InjectionTally: Equatable, Sendable {
    var injected = 0
    /// The outcome was as the contract says.
    var right = 0
    /// The outcome was different.
    var wrong = 0

    /// Faults without an outcome yet: a connection was cut, or the load ended.
    var open: Int { max(0, injected - right - wrong) }

    mutating func merge(_ other: InjectionTally) {
        injected += other.injected
        right += other.right
        wrong += other.wrong
    }
}

/// The counts of a fleet or of one shard.
struct FleetTally: Sendable {
    var heartbeats = RequestTally()
    var refreshes = RequestTally()
    /// Replies that the board did not see. Right: the repeated request had the same answer.
    var lostReplies = InjectionTally()
    /// Replayed requests. Right: the same reply came.
    var replays = InjectionTally()
    /// Thefts. Right: the session was revoked with the reason "reuse".
    var thefts = InjectionTally()
    /// Thieves that received the error 209.
    var thievesTold = 0
    /// Wrong clocks. Right: the board received the time, set its clock and got its answer.
    var clocks = InjectionTally()
    /// Bytes of MQTT payload: requests when first sent, and replies.
    var bytes = (requests: 0, replies: 0)
    /// The number of times that connections were cut on purpose.
    var storms = 0
    var cuts = 0
    /// Connection attempts by second, after the load has begun.
    var tries: [Int64: Int] = [:]
    var connects = 0
    var disconnects = 0
    /// Sessions that were ended for another reason than "reuse".
    var endedByOthers = 0
    /// Failures by layer, even those that a retry repaired.
    var errors = FaultLedger()
    /// Results that break the contract in any network.
    var violations = FaultLedger()

    /// The most connection attempts in one second.
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
