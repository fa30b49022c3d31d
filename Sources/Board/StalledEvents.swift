import AgentCore

/// Events that wait for the store to have room, in their order; what follows waits behind them.
struct StalledEvents {
    private static let span = Duration.seconds(1)

    private var events: [AgentEvent] = []
    /// When they are tried again.
    private(set) var endsAt: Duration?

    var isEmpty: Bool { events.isEmpty }

    mutating func add(_ event: AgentEvent, at now: Duration) {
        events.append(event)
        if endsAt == nil { endsAt = now + Self.span }
    }

    /// What comes behind waits, too; false where nothing does.
    mutating func follows(_ event: AgentEvent) -> Bool {
        guard !events.isEmpty else { return false }
        events.append(event)
        return true
    }

    /// Those whose time has come, to be tried again.
    mutating func take(at now: Duration) -> [AgentEvent] {
        guard let due = endsAt, due <= now else { return [] }
        defer { clear() }
        return events
    }

    /// The connection that brought them is gone: they come again.
    mutating func clear() {
        events.removeAll()
        endsAt = nil
    }
}
