/// How much there is to do, by how long what comes now would wait for its turn.
package enum LoadLevel: Int, Comparable, Sendable {
    case light
    /// A second.
    case heavy
    /// Four seconds.
    case severe
    /// Eight: a board repeats what is unanswered after ten.
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

    /// When who is refused may ask again.
    package var retryAfter: Duration {
        switch self {
        case .light, .heavy: .seconds(30)
        case .severe: .seconds(60)
        case .drowning: .seconds(120)
        }
    }
}

/// Measures how long what comes now would wait: what is begun and not done, over what is done
/// in a second. Source: Little, "A Proof for the Queuing Formula L = λW", 1961.
///
/// Times are of a clock that never goes back.
package struct Admission: Sendable {
    /// Fewer are never too many: a house does not refuse its boards while its disk rests.
    package static let fewest = 32
    /// What was done is counted over the last two seconds, in parts of half a second.
    private static let part = Duration.milliseconds(500)
    private static let parts = 4

    package private(set) var waiting = 0
    /// Since when something has been waiting without a pause.
    private var busySince = Duration.zero
    private var lastDone = Duration.zero
    private var done = [Int](repeating: 0, count: parts)
    /// The number of the part that is being counted.
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

    /// What began was not taken after all: it counts neither as waiting nor as done.
    package mutating func withdrew() { waiting = max(0, waiting - 1) }

    package mutating func level(at now: Duration) -> LoadLevel {
        guard waiting >= Self.fewest else { return .light }
        turn(to: now)
        return LoadLevel(wait: wait(at: now))
    }

    /// Forgets the parts that are over.
    private mutating func turn(to now: Duration) {
        let number = max(0, Int(now / Self.part))
        for passed in 0..<min(max(number - current, 0), Self.parts) {
            done[(number - passed) % Self.parts] = 0
        }
        current = max(current, number)
    }

    /// At least as long as nothing has been done.
    private func wait(at now: Duration) -> Duration {
        let still = now - lastDone
        let count = done.reduce(0, +)
        let span = min(now - busySince, Self.part * Self.parts)
        guard span >= Self.part, count > 0 else { return still }
        return max(still, span * (Double(waiting) / Double(count)))
    }
}
