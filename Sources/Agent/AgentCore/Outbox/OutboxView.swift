import Gate
import Sessions
import Wire

/// The outbox as the agent knows it: the store's last report, and the writes on their way there.
struct OutboxView: Sendable {
    /// The store's last report.
    private(set) var queue: QueueState
    /// The number of writes that this process has accepted.
    private(set) var accepted: Int64 = 0
    /// The highest data message number that the upstream broker has acknowledged to this process.
    /// Nil before the first.
    private(set) var lastForwarded: Int64?
    var lossNews = LossReporting()
    /// Bytes of accepted writes that `queue` does not include yet.
    private var unsettledBytes: Int64 = 0
    private var flow = QueueFlow()
    /// The oldest write's time at the last removal of old writes.
    private var expiredBefore: Timestamp?

    init(queue: QueueState) { self.queue = queue }

    /// The bytes in the outbox and on their way there.
    var usedBytes: Int64 { queue.bytes + unsettledBytes }

    /// The oldest write's time, while no removal of it was requested.
    var oldestToExpire: Timestamp? { queue.oldest == expiredBefore ? nil : queue.oldest }

    /// Counts an accepted write of this size.
    mutating func accept(bytes: Int64) {
        accepted += 1
        unsettledBytes += bytes
    }

    /// Ends a turn: accepted writes that are not on disk by then are not in the outbox.
    mutating func settle() { unsettledBytes = 0 }

    /// Takes a report of the store. Returns whether it differs from the last one.
    mutating func take(_ state: QueueState, at now: Duration) -> Bool {
        settle()
        guard state != queue else { return false }
        flow.note(state.bytes - queue.bytes, isLoss: state.losses != queue.losses, at: now)
        queue = state
        return true
    }

    mutating func forwarded(_ number: Int64) {
        lastForwarded = max(number, lastForwarded ?? number)
    }

    /// Bytes a second, in and out.
    func rates(at now: Duration) -> (incoming: Double, outgoing: Double) { flow.rates(at: now) }

    /// Records that the removal of old writes was requested, up to the present oldest.
    mutating func expire() { expiredBefore = queue.oldest }

    /// Lets writes expire that were in flight at the last removal.
    mutating func nothingIsInFlight() { expiredBefore = nil }
}

/// When and how often losses of the outbox are reported.
struct LossReporting: Sendable {
    /// The upstream status reports a loss at once, and then at most once a second.
    private static let interval = Duration.seconds(1)

    /// Whether there are losses that the upstream status does not contain yet.
    private(set) var isUntold = false
    private var toldAt: Duration?
    /// The number of losses at which the log reports next: 1, 2, 4, 8 and so on.
    private var nextSaid: Int64 = 1

    /// When the upstream status may report losses next. Nil: there is nothing to report, or it
    /// may be reported at once.
    var nextAt: Duration? { isUntold ? toldAt.map { $0 + Self.interval } : nil }

    /// Records a change from `before` to `total` losses. Returns whether to log it.
    mutating func changed(from before: Int64, to total: Int64) -> Bool {
        isUntold = true
        guard total > before, total >= nextSaid else { return false }
        while nextSaid <= total {
            let (next, isTooMuch) = nextSaid.multipliedReportingOverflow(by: 2)
            nextSaid = isTooMuch ? .max : next
            if isTooMuch { break }
        }
        return true
    }

    /// Records that losses are the reason for the status that is published now.
    mutating func told(at now: Duration) { toldAt = now }

    /// Records that a status was published, for whatever reason.
    mutating func published() { isUntold = false }
}
