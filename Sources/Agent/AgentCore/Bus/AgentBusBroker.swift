import Wire

extension Agent {
    /// The local broker has told of its own queue, as mosquitto does on `$SYS`; nil is what it
    /// did not tell of this time.
    ///
    /// What it dropped is no gap: it was never accepted, and nobody else would say so.
    mutating func busBrokerTold(dropped: Int64?, stored: Int64?) {
        var told = bus.broker ?? BusBrokerFigures()
        if let stored {
            // It changes with every message; it is news while messages pile up there.
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

    /// A rise while the agent did not read, or was not there. A fall: the broker began anew.
    private mutating func sayDrops(since before: Int64?, now dropped: Int64) {
        guard dropped > before ?? 0, bus.hasRested else { return }
        bus.dropsSeen += 1
        guard bus.dropsSeen & (bus.dropsSeen - 1) == 0 else { return }
        emit(.log(.warning, "the local broker has dropped \(dropped) messages since its start, "
            + "the last while the agent was not reading: raise max_queued_messages and "
            + "max_queued_bytes in its configuration, or find why the outbox is full"))
    }
}
