/// Since when writes wait although nothing keeps them back: the connection stands, no hold is in
/// force, the store can be read, and none is in flight.
///
/// No known state is like that for long. One that is costs a new connection, which begins at the
/// front of the queue.
struct IdleWay: Sendable {
    /// How long that may last. Each time that nothing is carried after it, it may last twice as
    /// long, so that a board which cannot send still hears its authority.
    static let patience = (first: Duration.seconds(60), most: Duration.seconds(3600))

    private var since: Duration?
    private var patience = Self.patience.first

    mutating func begin(at now: Duration) { since = since ?? now }

    mutating func end() { since = nil }

    /// The broker has answered a write.
    mutating func carried() {
        since = nil
        patience = Self.patience.first
    }

    /// When it has lasted too long; nil while it is not so.
    var ends: Duration? { since.map { $0 + patience } }

    /// How long it has lasted, where that is too long.
    mutating func stall(at now: Duration) -> Duration? {
        guard let since, let ends, ends <= now else { return nil }
        self.since = nil
        patience = min(patience * 2, Self.patience.most)
        return now - since
    }
}
