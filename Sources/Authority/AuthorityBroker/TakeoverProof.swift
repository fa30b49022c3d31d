/// Checks whether the broker currently lets a client take over the connection of another with the
/// same id.
///
/// RabbitMQ before 3.13 keeps its client ids by a vote of its nodes. Without a majority it lets
/// clients in but ends no connection, so a takeover proves nothing. The check uses two clients with
/// their own id.
actor TakeoverProof {
    private let takeover: ClientTakeover
    private var last: (asked: ContinuousClock.Instant, holds: Bool)?
    private var running: Task<Void, Never>?
    /// The time when takeovers worked again after a failure. `isBroken` stays set for `span` after
    /// it.
    private var mended: ContinuousClock.Instant?
    private var isBroken = false
    /// If RabbitMQ let a client in without a vote, the other nodes learn of it only when it is
    /// registered. RabbitMQ tries that every 5 s.
    private static let span = Duration.seconds(8)

    init(_ takeover: ClientTakeover) { self.takeover = takeover }

    /// Whether takeovers work, checked at `instant` or later. Callers at the same time share one
    /// check.
    func holds(since instant: ContinuousClock.Instant) async -> Bool {
        while true {
            if let last, last.asked >= instant { return last.holds }
            let task = running ?? Task { await look() }
            running = task
            await task.value
        }
    }

    private func look() async {
        let asked = ContinuousClock.now
        if await takeover.isSeen() {
            if isBroken {
                let since = mended ?? asked
                mended = since
                isBroken = asked - since < Self.span
            }
        } else {
            isBroken = true
            mended = nil
        }
        last = (asked, !isBroken)
        running = nil
    }
}
