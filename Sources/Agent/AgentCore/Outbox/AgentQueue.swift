import Gate
package import Sessions
import Wire

/// When the losses of the outbox are told, and how often.
struct LossNews: Sendable {
    /// The status upstream follows a loss at once, and then at most once a second.
    static let interval = Duration.seconds(1)

    /// What the status upstream does not say yet.
    var isUntold = false
    var toldAt: Duration?
    /// How many losses the log hears of next: 1, 2, 4, 8 and so on.
    var nextSaid: Int64 = 1
}

// How full the outbox is, what it lost and how long it lasts.
extension Agent {
    /// How long the outbox lasts at the present rate. While there is no way out, the present
    /// rate is what comes in.
    package func queueOutlook(at instant: Instant) -> QueueOutlook {
        let rates = flow.rates(at: instant.monotonic)
        var outlook = QueueOutlook(
            in: rates.incoming, out: rates.outgoing, room: fullMark - queue.bytes,
            hasWayOut: uplink.isReady)
        // What was dropped went in and never out: it leaves a rate, and nothing that grows.
        if uplink.isReady, queue.messages == 0 { outlook.hoursLeft = nil }
        return outlook
    }

    /// Above this many bytes reading stops, or the oldest are dropped.
    private var fullMark: Int64 {
        settings.dropsOldest
            ? settings.queueLimit : settings.queueLimit - settings.queueReserve
    }

    mutating func queueChanged(_ state: QueueState, at instant: Instant) {
        unsettledBytes = 0
        guard state != queue else { return }
        let isLoss = state.losses != queue.losses
        flow.note(state.bytes - queue.bytes, isLoss: isLoss, at: instant.monotonic)
        let before = queue.losses
        queue = state
        bus.healthIsStale = true
        if isLoss { lost(since: before, at: instant) }
    }

    private mutating func lost(since before: QueueLosses, at instant: Instant) {
        lossNews.isUntold = true
        let total = queue.losses.total
        guard total > before.total, total >= lossNews.nextSaid else { return }
        while lossNews.nextSaid <= total {
            let (next, isTooMuch) = lossNews.nextSaid.multipliedReportingOverflow(by: 2)
            lossNews.nextSaid = isTooMuch ? .max : next
            if isTooMuch { break }
        }
        let causes = QueueLosses.Cause.allCases.compactMap { cause in
            queue.losses.causes[cause].map { "\($0) \(cause.rawValue)" }
        }
        emit(.log(.error, "\(total) accepted messages will never arrive, of all times "
            + "(\(causes.joined(separator: ", "))): announced as gaps"))
    }

    /// When the status upstream may tell of losses next.
    var lossDeadline: Duration? {
        guard lossNews.isUntold, uplink.isReady else { return nil }
        return lossNews.toldAt.map { $0 + LossNews.interval }
    }

    /// At once, and then at most once a second, so that a consumer knows which numbers not to
    /// wait for.
    mutating func tellLossesIfDue(at instant: Instant) {
        guard lossNews.isUntold, uplink.isReady else { return }
        if let due = lossDeadline, due > instant.monotonic { return }
        lossNews.toldAt = instant.monotonic
        publishStatus(up: true, at: instant)
    }
}

// The last room of a full outbox.
extension Agent {
    /// About what a message takes in the outbox: its payload, topic, and a row's bookkeeping.
    static func size(of message: BusMessage) -> Int64 {
        Int64(message.payload.count) + Int64(message.topic.utf8.count) + 192
    }

    /// Nil where the outbox takes this write.
    ///
    /// Past the mark where reading stops, the reserve is for messages that are on their way
    /// and whose senders wait for no answer: those who asked are told 140 and can try again.
    /// Beyond the limit nothing is taken.
    func lackOfRoom(for message: BusMessage, of app: AppName) -> Rejection? {
        guard !settings.dropsOldest else { return nil }
        let used = queue.bytes + unsettledBytes
        guard used > fullMark || used + Self.size(of: message) > settings.queueLimit else {
            return nil
        }
        let isAsked = message.responseTopic.map { BusTopic.isResponse($0, for: app) } ?? false
        guard isAsked || used + Self.size(of: message) > settings.queueLimit else { return nil }
        return Rejection(
            code: .quota, rule: .builtin(.queue), reason: "the outbox of this board is full")
    }

    /// The bus is read unless the offline grace is over or the outbox is full. Once full, it is
    /// read again when an eighth of it is free, not at every message that leaves.
    mutating func steerReading(at instant: Instant) {
        steerHold()
        let mark = bus.isReading ? fullMark : fullMark - fullMark / 8
        let isFull = !settings.dropsOldest && queue.bytes > mark
        let mayRead = published != .unavailable(.offline) && !isFull
        guard mayRead != bus.isReading else { return }
        bus.isReading = mayRead
        emit(.readBus(mayRead))
        if !mayRead { bus.hasRested = true }
        sayReading(isFull: isFull, at: instant)
    }

    /// A session that cannot be read may be there again after the next claim: until then what
    /// comes is neither accepted nor refused.
    private mutating func steerHold() {
        let holds = published == .unavailable(.unreadable)
        guard holds != bus.isHolding else { return }
        bus.isHolding = holds
        bus.hasRested = true
        emit(.holdBus(holds))
        emit(holds ? .log(.warning, "not reading the bus: the session cannot be read")
            : .log(.info, "reading the bus again"))
    }

    /// A small outbox on a slow uplink may fill and empty many times a minute: the log hears of
    /// one in a minute.
    private mutating func sayReading(isFull: Bool, at instant: Instant) {
        if bus.isReading {
            if bus.isRestSaid { emit(.log(.info, "reading the bus again")) }
            bus.isRestSaid = false
            return
        }
        let now = instant.monotonic
        if isFull, let last = bus.restSaidAt, now - last < .seconds(60) { return }
        bus.isRestSaid = true
        bus.restSaidAt = now
        emit(.log(.warning,
            "not reading the bus: \(isFull ? "the outbox is full" : "offline for too long")"))
    }
}
