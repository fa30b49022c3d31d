/// The load level, by how long a new request would wait for its turn.
package enum LoadLevel: Int, Comparable, Sendable {
    case light
    /// At least one second.
    case heavy
    /// At least four seconds.
    case severe
    /// At least eight seconds. A board repeats an unanswered request after ten.
    case drowning

    package static func < (one: LoadLevel, other: LoadLevel) -> Bool {
        one.rawValue < other.rawValue
    }

    init(wait: Duration) {
        self = switch wait {
        case ..<Duration.seconds(1): .light
        case ..<Duration.seconds(4): .heavy
        case ..<Duration.seconds(8): .severe
        default: .drowning
        }
    }

    /// How long a refused board should wait before it asks again.
    package var retryAfter: Duration {
        switch self {
        case .light, .heavy: .seconds(30)
        case .severe: .seconds(60)
        case .drowning: .seconds(120)
        }
    }
}

/// Measures how long a new request would wait: the number of waiting requests, divided by the
/// number done per second. Source: Little, "A Proof for the Queuing Formula L = λW", 1961.
///
/// All times come from a monotonic clock.
package struct Admission: Sendable {
    /// Fewer waiting requests than this are always light load, so that a slow disk does not make a
    /// small authority refuse its boards.
    package static let fewest = 32
    /// Counts the requests done in the last two seconds, in parts of half a second.
    private static let part = Duration.milliseconds(500)
    private static let parts = 4

    package private(set) var waiting = 0
    /// Since when requests have been waiting without a pause.
    private var busySince = Duration.zero
    private var lastDone = Duration.zero
    private var done = [Int](repeating: 0, count: parts)
    /// The number of the present part.
    private var current = 0

    package init() {}

    package mutating func began(at now: Duration) {
        if waiting == 0 {
            busySince = now
            lastDone = now
            done = [Int](repeating: 0, count: Self.parts)
        }
        waiting += 1
    }

    package mutating func ended(at now: Duration) {
        turn(to: now)
        waiting = max(0, waiting - 1)
        lastDone = now
        done[current % Self.parts] += 1
    }

    /// A request that began was not handled. It counts neither as waiting nor as done.
    package mutating func withdrew() { waiting = max(0, waiting - 1) }

    package mutating func level(at now: Duration) -> LoadLevel {
        guard waiting >= Self.fewest else { return .light }
        turn(to: now)
        return LoadLevel(wait: wait(at: now))
    }

    /// Clears the parts that are too old.
    private mutating func turn(to now: Duration) {
        let number = max(0, Int(now / Self.part))
        for passed in 0..<min(max(number - current, 0), Self.parts) {
            done[(number - passed) % Self.parts] = 0
        }
        current = max(current, number)
    }

    /// The expected wait. It is never shorter than the time since the last request was done.
    private func wait(at now: Duration) -> Duration {
        let still = now - lastDone
        let count = done.reduce(0, +)
        let span = min(now - busySince, Self.part * Self.parts)
        guard span >= Self.part, count > 0 else { return still }
        return max(still, span * (Double(waiting) / Double(count)))
    }
}
