/// Pauses between tries. They double up to a limit. A random share of up to half shortens each,
/// so that a fleet does not try at the same moment.
package struct Backoff: Sendable {
    private let first: Duration
    private let limit: Duration
    private var tries = 0

    package init(first: Duration, limit: Duration) {
        self.first = first
        self.limit = limit
    }

    /// The pause before the next try. `share` is a random number from 0 to 1.
    package mutating func next(share: Double) -> Duration {
        let span = min(first * (1 << min(tries, 16)), limit)
        tries += 1
        return span - span * share / 2
    }

    package mutating func reset() { tries = 0 }
}
