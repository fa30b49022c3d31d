import Gate
package import Sessions
import Wire

// The outbox's fill level, losses and remaining time.
extension Agent {
    /// How long the outbox lasts at the present rate. While the uplink is down, only the incoming
    /// rate counts.
    package func queueOutlook(at instant: Instant) -> QueueOutlook {
        let rates = outbox.rates(at: instant.monotonic)
        var outlook = QueueOutlook(
            in: rates.incoming, out: rates.outgoing, room: fullMark - outbox.queue.bytes,
            hasWayOut: uplink.isReady)
        // Dropped messages count as incoming but never as outgoing. They leave a rate, although
        // nothing grows.
        if uplink.isReady, outbox.queue.messages == 0 { outlook.hoursLeft = nil }
        return outlook
    }

    /// The number of bytes above which reading stops or the oldest messages are dropped.
    private var fullMark: Int64 {
        settings.dropsOldest
            ? settings.queueLimit : settings.queueLimit - settings.queueReserve
    }

    mutating func queueChanged(_ state: QueueState, at instant: Instant) {
        let before = outbox.queue.losses
        guard outbox.take(state, at: instant.monotonic) else { return }
        bus.health.changed()
        if state.losses != before { lost(since: before) }
    }

    private mutating func lost(since before: QueueLosses) {
        let losses = outbox.queue.losses
        guard outbox.lossNews.changed(from: before.total, to: losses.total) else { return }
        let causes = QueueLosses.Cause.allCases.compactMap { cause in
            losses.causes[cause].map { "\($0) \(cause.rawValue)" }
        }
        emit(.log(.error, "\(losses.total) accepted messages in total will never arrive "
            + "(\(causes.joined(separator: ", "))): announced as gaps"))
    }

    /// When the upstream status may report losses next.
    var lossDeadline: Duration? { uplink.isReady ? outbox.lossNews.nextAt : nil }

    /// Reports losses at once, and then at most once a second. Consumers learn which numbers will
    /// never arrive.
    mutating func tellLossesIfDue(at instant: Instant) {
        guard outbox.lossNews.isUntold, uplink.isReady else { return }
        if let due = lossDeadline, due > instant.monotonic { return }
        outbox.lossNews.told(at: instant.monotonic)
        publishStatus(up: true, at: instant)
    }
}

// Decides about the last space of a full outbox.
extension Agent {
    /// The approximate bytes of a message in the outbox: payload, topic and 192 bytes for a row's
    /// own data.
    static func size(of message: BusMessage) -> Int64 {
        Int64(message.payload.count) + Int64(message.topic.utf8.count) + 192
    }

    /// The refusal of a write for lack of space. Nil: the outbox accepts it.
    ///
    /// Above `fullMark`, the reserve is for messages on their way whose senders wait for no
    /// answer. Senders that asked for an answer get error 140 and can try again. Above the limit
    /// nothing is accepted.
    func lackOfRoom(for message: BusMessage) -> Rejection? {
        guard !settings.dropsOldest else { return nil }
        let used = outbox.usedBytes
        guard used > fullMark || used + Self.size(of: message) > settings.queueLimit else {
            return nil
        }
        guard message.responseTopic != nil || used + Self.size(of: message) > settings.queueLimit
        else { return nil }
        return Rejection(
            code: .quota, rule: .builtin(.queue), reason: "the outbox of this board is full")
    }

    /// Reads the bus unless the offline grace has ended or the outbox is full. After a full
    /// outbox, reading starts again when an eighth is free, not after each message that leaves.
    mutating func steerReading(at instant: Instant) {
        steerHold()
        let mark = bus.isReading ? fullMark : fullMark - fullMark / 8
        let isFull = !settings.dropsOldest && outbox.queue.bytes > mark
        let mayRead = session.published != .unavailable(.offline) && !isFull
        guard mayRead != bus.isReading else { return }
        bus.read(mayRead)
        emit(.readBus(mayRead))
        sayReading(isFull: isFull, at: instant)
    }

    /// Holds the bus while the session cannot be read. The next claim may restore the session.
    /// Until then messages are neither accepted nor refused.
    private mutating func steerHold() {
        let holds = session.published == .unavailable(.unreadable)
        guard holds != bus.isHolding else { return }
        bus.hold(holds)
        emit(.holdBus(holds))
        emit(holds ? .log(.warning, "not reading the bus: the session cannot be read")
            : .log(.info, "reading the bus again"))
    }

    private mutating func sayReading(isFull: Bool, at instant: Instant) {
        guard bus.logsReading(isFull: isFull, at: instant.monotonic) else { return }
        let cause = isFull ? "the outbox is full" : "offline for too long"
        emit(bus.isReading ? .log(.info, "reading the bus again")
            : .log(.warning, "not reading the bus: \(cause)"))
    }
}
