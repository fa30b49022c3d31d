import AuthorityCore
import Sessions
import Synchronization
import Wire

/// Seeded pseudo-randomness: one seed, one run. Source: Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", 2014.
struct SplitMix64: Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(max(limit, 1))) }

    mutating func isHit(_ probability: Double) -> Bool {
        Double(next() >> 11) / Double(UInt64(1) << 53) < probability
    }

    mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
}

/// What one run draws: every random byte of its agents and its authority, and what the
/// symbolic cryptography has sealed and signed.
///
/// It is the task's, not an argument: an agent that is copied into another run must draw there.
final class Lot: Sendable {
    @TaskLocal static var current = Lot(seed: 0)

    struct Seal: Sendable {
        let plaintext: [UInt8]
        let envelope: SealedEnvelope
        /// The sender's public key, or the claim's key.
        let proof: [UInt8]
        let recipient: [UInt8]
        let topic: String
    }

    struct Books: Sendable {
        var seals: [[UInt8]: Seal] = [:]
        var tokens: [String: (claims: AccessTokenClaims, key: SigningKey)] = [:]
    }

    private let dice: Mutex<SplitMix64>
    private let kept: Mutex<Books>

    init(seed: UInt64, books: Books = Books()) {
        dice = Mutex(SplitMix64(seed: seed))
        kept = Mutex(books)
    }

    var books: Books { kept.withLock { $0 } }

    func bytes(_ count: Int) -> [UInt8] { dice.withLock { $0.bytes(count) } }

    func keep(_ seal: Seal) { kept.withLock { $0.seals[seal.envelope.enc] = seal } }
    func seal(of envelope: SealedEnvelope) -> Seal? {
        kept.withLock { $0.seals[envelope.enc] }.flatMap { $0.envelope == envelope ? $0 : nil }
    }

    func keep(_ token: String, _ claims: AccessTokenClaims, _ key: SigningKey) {
        kept.withLock { $0.tokens[token] = (claims, key) }
    }
    func token(_ text: String) -> (claims: AccessTokenClaims, key: SigningKey)? {
        kept.withLock { $0.tokens[text] }
    }
}
