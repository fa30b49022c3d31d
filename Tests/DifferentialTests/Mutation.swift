/// The same numbers in each run: SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Small faults in a document.
enum Mutation {
    /// The bytes at which a parser of JSON decides something.
    private static let telling = Array("{}[]:,\"\\/-+.eEu0123456789 \t\n\rntf_$".utf8)
        + [0, 0x1F, 0x7F, 0x80, 0xBF, 0xC2, 0xE2, 0xED, 0xF0, 0xF4, 0xFF]

    static func of(_ seeds: [[UInt8]], using random: inout SeededGenerator) -> [UInt8] {
        var bytes = seeds.randomElement(using: &random) ?? []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let here = Int.random(in: 0...bytes.count, using: &random)
            let there = min(bytes.count, here + Int.random(in: 0...4, using: &random))
            let byte = telling.randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<7, using: &random) {
            case 0: bytes.insert(byte, at: here)
            case 1: bytes.replaceSubrange(here..<there, with: [byte])
            case 2: bytes.removeSubrange(here..<there)
            case 3: bytes.insert(contentsOf: bytes[here..<there], at: here)
            case 4: bytes = Array(bytes[..<here])
            case 5: bytes = [0x5B] + bytes + [0x2C] + (seeds.randomElement(using: &random) ?? [])
                + [0x5D]
            default:
                guard here < bytes.count else { continue }
                bytes[here] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
        }
        return bytes
    }
}
