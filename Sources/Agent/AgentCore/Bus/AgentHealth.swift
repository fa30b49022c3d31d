import Gate
package import Sessions
package import Wire

extension Agent {
    private static let healthInterval = Duration.seconds(5)
    /// How old a published `oldestAge` may be while messages wait.
    private static let ageInterval = Duration.seconds(60)

    /// When to publish the health topic next. Nil: it is up to date.
    var healthDeadline: Duration? {
        guard bus.isConnected else { return nil }
        guard bus.healthIsStale else { return bus.healthFadesAt }
        return bus.healthAt.map { $0 + Self.healthInterval }
    }

    /// Publishes the first change at once, and then at most every five seconds.
    mutating func publishHealthIfDue(at instant: Instant) {
        guard bus.isConnected else { return }
        if let due = bus.healthFadesAt, due <= instant.monotonic { bus.healthIsStale = true }
        guard bus.healthIsStale else { return }
        if let last = bus.healthAt, instant.monotonic < last + Self.healthInterval { return }
        publishHealth(up: true, at: instant)
    }

    mutating func publishHealth(up: Bool, at instant: Instant) {
        let notice = health(up: up, at: instant)
        bus.healthIsStale = false
        bus.healthAt = instant.monotonic
        // No event occurs when messages stop, although the rates change. The oldest message also
        // grows older without an event. Publish again after this time.
        let isFlowing = notice.bytesPerSecondIn > 0 || notice.bytesPerSecondOut > 0
        let isWaiting = outbox.queue.messages > 0
        let fades = isWaiting ? Self.ageInterval : isFlowing ? QueueFlow.window : nil
        bus.healthFadesAt = fades.map { instant.monotonic + $0 }
        emit(.publishBus(BusPublication(
            topic: BusTopic.health, payload: notice.payload, retain: true)))
    }

    package func health(up: Bool, at instant: Instant) -> HealthNotice {
        var notice = HealthNotice(
            up: up, pid: settings.processID, time: clock.now(at: instant), uplink: uplink.text)
        let queue = outbox.queue
        notice.messages = queue.messages
        notice.bytes = queue.bytes
        notice.oldest = queue.oldest
        let outlook = queueOutlook(at: instant)
        notice.hoursLeft = outlook.hoursLeft
        notice.bytesPerSecondIn = outlook.bytesPerSecondIn
        notice.bytesPerSecondOut = outlook.bytesPerSecondOut
        notice.dropped = inbox.dropped
        notice.refused = refusals.total
        notice.refusals = refusals.entries
        notice.gaps = AnnouncedGaps(
            total: queue.losses.total, ranges: queue.losses.ranges.suffix(32))
        notice.drops = queue.losses.drops
        notice.dead = queue.dead
        notice.bus = bus.broker
        notice.isDegraded = records.isUnreadable || isPolicyLost
        return notice
    }

    /// The board's status for upstream readers. It contains no numbers that a last will cannot
    /// know.
    func boardStatus(up: Bool, at instant: Instant) -> BoardStatus {
        let losses = outbox.queue.losses
        let isAvailable = if case .available = session.published { true } else { false }
        return BoardStatus(
            up: up, available: isAvailable, version: settings.version,
            since: clock.now(at: instant),
            gaps: AnnouncedGaps(total: losses.total, ranges: losses.ranges))
    }
}
