import AuthorityCore

/// Who waits for a password to be hashed, which is slow on purpose and done one at a time.
///
/// So many wait together, and so many of one address, which else would take all the turns there
/// are. Addresses from which nobody has logged in yet share a part of the turns, and so many of
/// one network (IPv4 /24; IPv6 /56 and /48) have one: whoever holds many addresses does not keep
/// out those who log in from where they logged in before.
struct PasswordTurns: Sendable {
    static let limit = 16
    static let each = 4
    /// Of all addresses from which nobody has logged in.
    static let ofStrangers = 10
    /// Of one network, for addresses that are known and for those that are not, each by itself.
    static let ofNetwork = 6
    /// How many addresses are known, those that logged in last.
    static let memory = 4096
    /// When who is refused may ask again: about as long as all turns take.
    static let retryAfter = Duration.seconds(10)

    /// A turn at hashing; who has it must give it back.
    struct Turn: Sendable {
        fileprivate let origin: CountedOrigin
        fileprivate let isKnown: Bool
    }

    /// Those that are known, or those that are not.
    private struct Book {
        var count = 0
        var origins: [CountedOrigin: Int] = [:]
        var networks: [CountedOrigin: Int] = [:]
    }

    private var known = Book()
    private var strangers = Book()
    /// Each with the number of its last login; a higher one is a later login.
    private var logins: [CountedOrigin: UInt64] = [:]
    private var lastLogin: UInt64 = 0

    /// Nil if there is no turn to be had.
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

    /// Somebody has logged in from here.
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
