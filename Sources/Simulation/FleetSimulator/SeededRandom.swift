/// Random numbers that are the same for the same seed. For faults and times, never for secrets.
///
/// Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (SplitMix64).
struct SeededRandom: Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// A number from 0 to just below 1.
    mutating func share() -> Double { Double(next() >> 11) / Double(1 << 53) }

    /// True with this probability.
    mutating func happens(_ share: Double) -> Bool { self.share() < share }

    /// A random time within the span.
    mutating func within(_ span: Duration) -> Duration { span * share() }

    /// Picks `number` different numbers below `count`, or all if there are fewer.
    mutating func pick(_ number: Int, below count: Int) -> [Int] {
        var places = Array(0..<count)
        let wanted = min(number, count)
        for place in 0..<wanted {
            places.swapAt(place, place + Int(share() * Double(count - place)))
        }
        return Array(places.prefix(wanted))
    }
}
