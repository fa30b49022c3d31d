/// The state of an outage of the database, with the time of the next retry.
///
/// A value: time and randomness are arguments.
struct Outage: Sendable {
    static let shortest = Duration.milliseconds(20)
    static let longest = Duration.seconds(5)

    private(set) var failures = 0
    private(set) var isBeingTried = false
    private(set) var nextTry: ContinuousClock.Instant
    private(set) var error: PostgresError

    /// The first attempt failed at `now`. `chance` is from 0 to 1.
    init(_ error: PostgresError, at now: ContinuousClock.Instant, chance: Double) {
        self.error = error
        nextTry = now + Self.pause(after: 0, chance: chance)
    }

    /// Records a failed retry. The next one comes at most `most` later.
    mutating func fail(
        _ error: PostgresError, at now: ContinuousClock.Instant, chance: Double,
        atMost most: Duration = longest
    ) {
        self.error = error
        failures += 1
        isBeingTried = false
        nextTry = now + min(Self.pause(after: failures, chance: chance), most)
    }

    /// Whether the caller may try now. Then nobody else may, until the try failed or `patience` has
    /// passed.
    mutating func claim(
        at now: ContinuousClock.Instant, for patience: Duration
    ) -> Bool {
        guard now >= nextTry else { return false }
        nextTry = now + patience
        isBeingTried = true
        return true
    }

    /// The backoff doubles with each failure. The pause is a random part of it, at least half, so
    /// that several processes do not retry at the same moment.
    static func pause(after failures: Int, chance: Double) -> Duration {
        let doubled = shortest * (1 << min(max(failures, 0), 10))
        return min(doubled, longest) * (0.5 + min(max(chance, 0), 1) / 2)
    }
}
