import Sessions

extension Agent {
    /// How far past its time a write may stay: so that not every second has its own removal.
    private var expirySlack: Duration { min(settings.queueAge / 50, .seconds(60)) }

    /// When the oldest write may have to go. Nil while the time is not surely known: a clock
    /// that is wrong must cost nobody data.
    ///
    /// A write that was accepted while this board's clock stood before the program was built
    /// has no age, nor has what stands behind it, until it has left.
    private func expiry(at instant: Instant) -> Duration? {
        guard clock.isSet, let oldest = queue.oldest, oldest >= settings.buildDate,
            oldest != expiredBefore
        else { return nil }
        return (oldest + settings.queueAge) - clock.now(at: instant)
    }

    func expiryDeadline(at instant: Instant) -> Duration? {
        // A day at the most: far ends are looked at again, so that nothing overflows.
        expiry(at: instant).map { instant.monotonic + min($0 + expirySlack, .seconds(86_400)) }
    }

    /// Drops what is older than `max_age`, once the oldest is by more than the slack.
    mutating func expireQueue(at instant: Instant) {
        guard let left = expiry(at: instant), left + expirySlack <= .zero else { return }
        // Once for each: what the store leaves standing must not be asked for again and again.
        // What is in flight stays until the broker has answered, or the connection has ended.
        expiredBefore = queue.oldest
        let end = clock.now(at: instant) - settings.queueAge
        emit(.commit([.expire(settings.buildDate..<end)]))
    }
}
