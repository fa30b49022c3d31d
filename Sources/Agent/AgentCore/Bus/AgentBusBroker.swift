import Wire

extension Agent {
    /// Takes the local broker's counters for its own queue, as mosquitto publishes them on
    /// `$SYS`. Nil: this counter was not reported this time.
    ///
    /// Messages that the broker dropped are no gap, because the agent never accepted them. Only
    /// the agent reports them.
    mutating func busBrokerTold(dropped: Int64?, stored: Int64?) {
        guard bus.take(dropped: dropped, stored: stored), let dropped else { return }
        emit(.log(.warning, "the local broker has dropped \(dropped) messages since its start, "
            + "the last while the agent was not reading: raise max_queued_messages and "
            + "max_queued_bytes in its configuration, or find why the outbox is full"))
    }
}
