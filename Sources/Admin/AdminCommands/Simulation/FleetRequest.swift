import Sessions

/// A request of a simulated board that waits for its answer.
struct FleetRequest: Sendable {
    let kind: SimulatedBoard.Request
    let id: MessageID
    let since: Duration
    /// As it was sent last.
    var payload: [UInt8]
    /// The board's clock when it was sent first, and last.
    var issued: ClosedRange<Timestamp>
    var tries = 1
    var repeatAt: Duration
    /// The reply that was thrown away on purpose: the next must be the same.
    var lost: [UInt8]?
    /// How often the clock was set on its account.
    var corrections = 0
    /// It was refused, and goes on under its id much later.
    var isRefused = false
    /// The authority had no time for it and said when to ask again.
    private(set) var isPutOff = false

    /// Whether a reply that says this time speaks of a clock that was off.
    func wasOff(by now: Timestamp) -> Bool {
        now > issued.upperBound + SimulatedBoard.clockTolerance
            || now < issued.lowerBound - SimulatedBoard.clockTolerance
    }

    mutating func sentAgain(_ payload: [UInt8], under time: Timestamp) {
        self.payload = payload
        isPutOff = false
        issued = min(issued.lowerBound, time)...max(issued.upperBound, time)
    }

    /// When it is repeated: after the patience, then twice and so on to thirty times that, each
    /// shortened by up to half, as the agent does.
    mutating func putOff(
        at now: Duration, patience: Duration, _ random: inout SeededRandom
    ) {
        let factor = min(1 << min(tries, 5), 30)
        let span = patience * factor
        tries += 1
        repeatAt = now + span - random.within(span / 2)
    }

    /// The same where the authority had no time: after what it said and a draw, as the agent does.
    ///
    /// Source: the wire contract, Overload.
    mutating func putOff(
        by refusal: Refusal, _ plan: FleetPlan, at now: Duration, _ random: inout SeededRandom
    ) {
        let told = refusal.retryAfter ?? .seconds(30)
        let wait = min(told, plan.putOff ?? told)
        tries += 1
        isPutOff = true
        repeatAt = now + wait + random.within(max(wait, plan.spread))
    }
}

/// An eavesdropper's copy of a request that was answered.
struct FleetReplay: Sendable {
    let id: MessageID
    let kind: SimulatedBoard.Request
    let payload: [UInt8]
    /// What it was answered with, and must be again.
    let answer: [UInt8]
    let at: Duration
    var sentAt: Duration?
    /// Nothing that is sent later is waited for.
    static let patience = Duration.seconds(10)
}

/// A thief with the board's device key and a refresh token that it has spent.
struct FleetThief: Sendable {
    /// Not before.
    var strikeAt: Duration
    /// Its request, once it is made; sent again until it is answered.
    var id: MessageID?
    var repeatAt = Duration.zero
    var tries = 0
    var isTold = false
    var isFound = false

    var hasStruck: Bool { id != nil }
}
