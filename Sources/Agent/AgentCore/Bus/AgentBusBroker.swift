import Wire

extension Agent {
    /// Takes the local broker's counters for its own queue, as mosquitto publishes them on
    /// `$SYS`. Nil: this counter was not reported this time.
    ///
    /// Messages that the broker dropped are no gap, because the agent never accepted them. Only
    /// the agent reports them.
    mutating func busBrokerTold(dropped: Int64?, stored: Int64?) {
        var told = bus.broker ?? BusBrokerFigures()
        if let stored {
            // It changes with every message. It matters only while messages pile up there.
            if !bus.isReading || bus.broker == nil { bus.healthIsStale = true }
            told.stored = stored
        }
        if let dropped {
            sayDrops(since: told.dropped, now: dropped)
            if told.dropped != dropped { bus.healthIsStale = true }
            told.dropped = dropped
            bus.hasRested = !bus.isReading
        }
        bus.broker = told
    }

    /// Logs a rise while the agent was away or did not read. A fall means that the broker has
    /// restarted.
    private mutating func sayDrops(since before: Int64?, now dropped: Int64) {
        guard dropped > before ?? 0, bus.hasRested else { return }
        bus.dropsSeen += 1
        guard bus.dropsSeen & (bus.dropsSeen - 1) == 0 else { return }
        emit(.log(.warning, "the local broker has dropped \(dropped) messages since its start, "
            + "the last while the agent was not reading: raise max_queued_messages and "
            + "max_queued_bytes in its configuration, or find why the outbox is full"))
    }
}
