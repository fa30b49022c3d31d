import Sessions

extension Agent {
    /// How long a write may stay after its maximum age. It prevents a removal every second.
    private var expirySlack: Duration { min(settings.queueAge / 50, .seconds(60)) }

    /// The time until the oldest write expires. Nil while the time is uncertain, because a wrong
    /// clock must not destroy data.
    ///
    /// If the oldest write was accepted while the clock was below the build date, nothing expires
    /// until that write has left.
    private func expiry(at instant: Instant) -> Duration? {
        guard clock.isSet, let oldest = outbox.oldestToExpire, oldest >= settings.buildDate else {
            return nil
        }
        return (oldest + settings.queueAge) - clock.now(at: instant)
    }

    func expiryDeadline(at instant: Instant) -> Duration? {
        // One day at most, so that nothing overflows. The deadline is then computed again.
        expiry(at: instant).map { instant.monotonic + min($0 + expirySlack, .seconds(86_400)) }
    }

    /// Drops writes older than `max_age`, once the oldest exceeds it by the slack.
    mutating func expireQueue(at instant: Instant) {
        guard let left = expiry(at: instant), left + expirySlack <= .zero else { return }
        // Request each removal only once, because the store may keep some writes. Writes in
        // flight stay until the broker has answered or the connection has ended.
        outbox.expire()
        let end = clock.now(at: instant) - settings.queueAge
        emit(.commit([.expire(settings.buildDate..<end)]))
    }
}
