/// Whether the broker, as it is now, lets a client take the place of another one of its id.
///
/// RabbitMQ before 3.13 keeps its list of client ids by a vote of its nodes: while fewer than a
/// majority live it lets clients in and ends none, so that a takeover says nothing of what was
/// to be cut off. The two clients that find it out have an id of their own.
actor TakeoverProof {
    private let takeover: ClientTakeover
    private var last: (asked: ContinuousClock.Instant, holds: Bool)?
    private var running: Task<Void, Never>?
    /// Since when it is seen again after it was not; `isBroken` until that is `span` ago.
    private var mended: ContinuousClock.Instant?
    private var isBroken = false
    /// A client that RabbitMQ let in without a vote is known to the others only once it was
    /// entered, which is tried every 5 s.
    private static let span = Duration.seconds(8)

    init(_ takeover: ClientTakeover) { self.takeover = takeover }

    /// One answer serves all who ask at the same time; none of before `instant` does.
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
