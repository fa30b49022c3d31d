/// Spans between tries: doubling to a limit, each shortened by up to half at random so that
/// a fleet does not try in step.
package struct Backoff: Sendable {
    private let first: Duration
    private let limit: Duration
    private var tries = 0

    package init(first: Duration, limit: Duration) {
        self.first = first
        self.limit = limit
    }

    /// The span before the next try; `share` is drawn from 0 to 1.
    package mutating func next(share: Double) -> Duration {
        let span = min(first * (1 << min(tries, 16)), limit)
        tries += 1
        return span - span * share / 2
    }

    package mutating func reset() { tries = 0 }
}
