package import Sessions
package import Wire

extension Agent {
    private static let healthInterval = Duration.seconds(5)

    /// When the health topic may be written next; nil while it says what is so.
    var healthDeadline: Duration? {
        guard bus.healthIsStale, bus.isConnected else { return nil }
        return bus.healthAt.map { $0 + Self.healthInterval }
    }

    /// At once for the first change, and then at most every five seconds.
    mutating func publishHealthIfDue(at instant: Instant) {
        guard bus.healthIsStale, bus.isConnected else { return }
        if let last = bus.healthAt, instant.monotonic < last + Self.healthInterval { return }
        publishHealth(up: true, at: instant)
    }

    mutating func publishHealth(up: Bool, at instant: Instant) {
        bus.healthIsStale = false
        bus.healthAt = instant.monotonic
        emit(.publishBus(BusPublication(
            topic: BusTopic.health, payload: health(up: up, at: instant).payload, retain: true)))
    }

    package func health(up: Bool, at instant: Instant) -> HealthNotice {
        var notice = HealthNotice(
            up: up, pid: settings.processID, time: clock.now(at: instant), uplink: uplink.text)
        notice.messages = queue.messages
        notice.bytes = queue.bytes
        notice.oldest = queue.oldest
        notice.dropped = dropped
        notice.refused = refusals.total
        notice.refusals = refusals.entries
        notice.gaps = records.memory.gaps
        return notice
    }
}
