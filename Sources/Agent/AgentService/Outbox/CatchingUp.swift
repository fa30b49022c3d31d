/// Decides whether the bus waits until the last batch of writes has left.
///
/// Each batch of the bus costs a sync. With a near broker a batch leaves in a few round trips. The
/// next batch grows meanwhile, so there are fewer syncs, and few writes are in flight. The bus
/// waits only for a moment, because the queue may be long, and not for a broker that takes
/// nothing.
struct CatchingUp: Sendable {
    private static let longest = Duration.milliseconds(20)

    private var since: Duration?
    private var waiting: Int64 = 0
    /// How many writes the broker had taken when the bus began to wait.
    private var taken: Int64 = 0

    /// Notes how many writes wait, how many the broker has taken, and whether some wait only for
    /// those in flight.
    mutating func look(
        waiting count: Int64, taken: Int64, isBehind: Bool, at now: Duration
    ) {
        if !isBehind {
            since = nil
        } else if since == nil || (count > waiting && taken > self.taken) {
            // The bus has delivered more writes.
            since = now
            self.taken = taken
        }
        waiting = count
    }

    /// When the bus stops waiting; nil if it does not wait.
    func ends(after now: Duration) -> Duration? {
        since.map { $0 + Self.longest }.flatMap { $0 > now ? $0 : nil }
    }
}
