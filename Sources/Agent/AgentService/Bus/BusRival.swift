import AgentCore

/// Another agent with this board's identity on the same bus: each takes the other's place at the
/// broker. Both wait longer after each time, so that they do not alternate without end at once.
/// Source: MQTT 5 §3.1.4-3, reason code 0x8E.
struct BusRival: Sendable {
    static let words = "another agent with this board's identity took this one's place: "
        + "end one of the two"
    /// One that was not seen for so long is gone.
    static let memory = Duration.seconds(600)

    private var backoff = Backoff(first: .seconds(1), limit: .seconds(60))
    private var seenAt: Duration?

    func isThere(at now: Duration) -> Bool { seenAt.map { now - $0 < Self.memory } ?? false }

    /// The broker gave this agent's place away. Returns how long to wait before the next try,
    /// and whether that is news for the log. `share` is drawn from 0 to 1.
    mutating func tookPlace(at now: Duration, share: Double) -> (wait: Duration, isNews: Bool) {
        let isNews = !isThere(at: now)
        if isNews { backoff.reset() }
        seenAt = now
        return (backoff.next(share: share), isNews)
    }
}
