import Gate
package import Sessions
package import Wire

/// When the health topic is published: the first change at once, and then at most every five
/// seconds.
struct HealthTimes: Sendable {
    private static let interval = Duration.seconds(5)

    private var isStale = true
    private var publishedAt: Duration?
    /// When the published values become outdated without an event.
    private var fadesAt: Duration?

    /// When to publish next. Nil: the topic is up to date, or was never published.
    var nextAt: Duration? {
        isStale ? publishedAt.map { $0 + Self.interval } : fadesAt
    }

    mutating func changed() { isStale = true }

    /// Makes the topic due at once, because a new connection begins.
    mutating func restart() {
        isStale = true
        publishedAt = nil
    }

    mutating func isDue(at now: Duration) -> Bool {
        if let fadesAt, fadesAt <= now { isStale = true }
        guard isStale else { return false }
        return publishedAt.map { now >= $0 + Self.interval } ?? true
    }

    /// `fades`: how long the published values stay true without an event. Nil: for ever.
    mutating func published(at now: Duration, fades: Duration?) {
        isStale = false
        publishedAt = now
        fadesAt = fades.map { now + $0 }
    }
}

extension Agent {
    /// How old a published `oldestAge` may be while messages wait.
    private static let ageInterval = Duration.seconds(60)

    /// When to publish the health topic next. Nil: it is up to date.
    var healthDeadline: Duration? { bus.isConnected ? bus.health.nextAt : nil }

    mutating func publishHealthIfDue(at instant: Instant) {
        guard bus.isConnected, bus.health.isDue(at: instant.monotonic) else { return }
        publishHealth(up: true, at: instant)
    }

    mutating func publishHealth(up: Bool, at instant: Instant) {
        let notice = health(up: up, at: instant)
        // No event occurs when messages stop, although the rates change. The oldest message also
        // grows older without an event. Publish again after this time.
        let isFlowing = notice.bytesPerSecondIn > 0 || notice.bytesPerSecondOut > 0
        let isWaiting = outbox.queue.messages > 0
        let fades = isWaiting ? Self.ageInterval : isFlowing ? QueueFlow.window : nil
        bus.health.published(at: instant.monotonic, fades: fades)
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
        notice.refused = bus.refusals.total
        notice.refusals = bus.refusals.entries
        notice.gaps = AnnouncedGaps(
            total: queue.losses.total, ranges: queue.losses.ranges.suffix(32))
        notice.drops = queue.losses.drops
        notice.dead = queue.dead
        notice.bus = bus.broker
        notice.sessionEnds = sessionOutlook
        notice.isDegraded = records.isUnreadable || isPolicyLost
        return notice
    }

    /// When the held session ends by itself. Nil without a session.
    var sessionOutlook: SessionOutlook? {
        records.session.flatMap { held in
            SessionOutlook(
                of: held.session, lastHeard: held.lastContact,
                offline: held.grace(own: settings.offline))
        }
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
