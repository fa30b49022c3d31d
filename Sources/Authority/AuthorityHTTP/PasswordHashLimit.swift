import AuthorityCore

/// Limits how many requests wait for password hashing, which is slow on purpose and done one at a
/// time.
///
/// There is a limit for all requests, and one for each address, so that no address takes all turns.
/// Addresses without an earlier login share a part of the turns. A network (IPv4 /24; IPv6 /56 and
/// /48) has a limit too.
///
/// So a caller with many addresses cannot keep out users who log in from a known address.
struct PasswordHashLimit: Sendable {
    static let limit = 16
    static let each = 4
    /// For all addresses together from which nobody has logged in.
    static let ofStrangers = 10
    /// For one network; known addresses and others are counted separately.
    static let ofNetwork = 6
    /// How many addresses are remembered: those with the latest logins.
    static let memory = 4096
    /// When a refused caller may ask again: about as long as all turns take.
    static let retryAfter = Duration.seconds(10)

    /// A turn at hashing. The caller must give it back with `leave`.
    struct Turn: Sendable {
        fileprivate let origin: CountedOrigin
        fileprivate let isKnown: Bool
    }

    /// The turns in use: of known addresses, or of all others.
    private struct Book {
        var count = 0
        var origins: [CountedOrigin: Int] = [:]
        var networks: [CountedOrigin: Int] = [:]
    }

    private var known = Book()
    private var strangers = Book()
    /// The known addresses, each with the number of its last login. A higher number is a later
    /// login.
    private var logins: [CountedOrigin: UInt64] = [:]
    private var lastLogin: UInt64 = 0

    /// Takes a turn; nil if none is free.
    mutating func enter(_ origin: CountedOrigin) -> Turn? {
        guard known.count + strangers.count < Self.limit else { return nil }
        let turn = Turn(origin: origin, isKnown: logins[origin] != nil)
        let book = turn.isKnown ? known : strangers
        guard turn.isKnown || book.count < Self.ofStrangers,
            book.origins[origin, default: 0] < Self.each,
            origin.networks.allSatisfy({ book.networks[$0, default: 0] < Self.ofNetwork })
        else { return nil }
        change(turn, by: 1)
        return turn
    }

    mutating func leave(_ turn: Turn) { change(turn, by: -1) }

    /// Remembers that a user has logged in from this address.
    mutating func know(_ origin: CountedOrigin) {
        if logins[origin] == nil, logins.count >= Self.memory,
            let oldest = logins.min(by: { $0.value < $1.value }) {
            logins[oldest.key] = nil
        }
        lastLogin += 1
        logins[origin] = lastLogin
    }

    private mutating func change(_ turn: Turn, by step: Int) {
        if turn.isKnown {
            Self.change(&known, turn.origin, by: step)
        } else {
            Self.change(&strangers, turn.origin, by: step)
        }
    }

    private static func change(_ book: inout Book, _ origin: CountedOrigin, by step: Int) {
        book.count += step
        add(step, to: &book.origins, at: origin)
        for network in origin.networks { add(step, to: &book.networks, at: network) }
    }

    private static func add(
        _ step: Int, to counts: inout [CountedOrigin: Int], at key: CountedOrigin
    ) {
        let count = counts[key, default: 0] + step
        counts[key] = count > 0 ? count : nil
    }
}
