import AuthorityCore

/// Limits the exchanges of codes at one time. Each one has a thread, and waits for a provider.
struct CodeExchangeLimit: Sendable {
    static let most = 16
    /// For one address, so that no address takes all of them.
    static let each = 4

    private var count = 0
    private var origins: [CountedOrigin: Int] = [:]

    /// Whether an exchange may begin. If so, the caller must end it with `leave`.
    mutating func enter(_ origin: CountedOrigin) -> Bool {
        let own = origins[origin, default: 0]
        guard count < Self.most, own < Self.each else { return false }
        count += 1
        origins[origin] = own + 1
        return true
    }

    mutating func leave(_ origin: CountedOrigin) {
        count -= 1
        let own = origins[origin, default: 1] - 1
        origins[origin] = own > 0 ? own : nil
    }
}
