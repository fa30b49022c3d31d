/// Measures how long writes wait although nothing prevents sending: the connection is up, no hold
/// is in force, the store can be read, and no write is in flight.
///
/// No known state is like this for long. If one is, the agent connects again, which starts at the
/// front of the queue.
struct StallCheck: Sendable {
    /// How long this may last. If nothing is sent afterwards, the limit doubles, so that a board
    /// that cannot send still hears its authority.
    static let patience = (first: Duration.seconds(60), most: Duration.seconds(3600))

    private var since: Duration?
    private var patience = Self.patience.first

    mutating func begin(at now: Duration) { since = since ?? now }

    mutating func end() { since = nil }

    /// Notes that the broker has answered a write.
    mutating func carried() {
        since = nil
        patience = Self.patience.first
    }

    /// When it will have lasted too long; nil if nothing waits so.
    var ends: Duration? { since.map { $0 + patience } }

    /// Returns how long it has lasted, if that is too long, and starts again.
    mutating func stall(at now: Duration) -> Duration? {
        guard let since, let ends, ends <= now else { return nil }
        self.since = nil
        patience = min(patience * 2, Self.patience.most)
        return now - since
    }
}
