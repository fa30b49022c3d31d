import AgentCore

/// Detects another agent with this board's identity on the same bus. Each agent ends the other's
/// connection. Both wait longer after each time, so they do not alternate without a pause.
/// Source: MQTT 5 §3.1.4-3, reason code 0x8E.
struct BusRival: Sendable {
    static let words = "another agent with this board's identity took this one's place: "
        + "stop one of the two"
    /// A rival not seen for this long is gone.
    static let memory = Duration.seconds(600)

    private var backoff = Backoff(first: .seconds(1), limit: .seconds(60))
    private var seenAt: Duration?

    func isThere(at now: Duration) -> Bool { seenAt.map { now - $0 < Self.memory } ?? false }

    /// Notes that another agent took over the connection. Returns the wait before the next try,
    /// and whether to log it. `share` is random, from 0 to 1.
    mutating func tookPlace(at now: Duration, share: Double) -> (wait: Duration, isNews: Bool) {
        let isNews = !isThere(at: now)
        if isNews { backoff.reset() }
        seenAt = now
        return (backoff.next(share: share), isNews)
    }
}
