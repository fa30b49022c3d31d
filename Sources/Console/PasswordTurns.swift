import AuthorityCore

/// Who waits for a password to be hashed, which is slow on purpose and done one at a time: so
/// many together, and so many of one address, which else would take all the turns there are.
struct PasswordTurns: Sendable {
    static let limit = 16
    static let each = 4
    /// When who is refused may ask again: about as long as all turns take.
    static let retryAfter = Duration.seconds(10)

    private var count = 0
    private var origins: [CountedOrigin: Int] = [:]

    /// False if there is no turn to be had. Who entered must leave.
    mutating func enter(_ origin: CountedOrigin) -> Bool {
        let own = origins[origin] ?? 0
        guard count < Self.limit, own < Self.each else { return false }
        origins[origin] = own + 1
        count += 1
        return true
    }

    mutating func leave(_ origin: CountedOrigin) {
        guard let own = origins[origin] else { return }
        origins[origin] = own > 1 ? own - 1 : nil
        count -= 1
    }
}
