/// What a pool knows of a database that it cannot reach, and when it tries again.
///
/// A value: time and chance are arguments.
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

    /// Another attempt failed; the next one is no later than after `most`.
    mutating func fail(
        _ error: PostgresError, at now: ContinuousClock.Instant, chance: Double,
        atMost most: Duration = longest
    ) {
        self.error = error
        failures += 1
        isBeingTried = false
        nextTry = now + min(Self.pause(after: failures, chance: chance), most)
    }

    /// Whether whoever asks is the one to try now; then nobody else is, until that failed or
    /// `patience` is over.
    mutating func claim(
        at now: ContinuousClock.Instant, for patience: Duration
    ) -> Bool {
        guard now >= nextTry else { return false }
        nextTry = now + patience
        isBeingTried = true
        return true
    }

    /// Doubles with each failure; between half of it and all, so that several processes do not
    /// come back in step.
    static func pause(after failures: Int, chance: Double) -> Duration {
        let doubled = shortest * (1 << min(max(failures, 0), 10))
        return min(doubled, longest) * (0.5 + min(max(chance, 0), 1) / 2)
    }
}
