import AgentCore

/// Events that wait for the store to have room, in their order; what follows waits behind them.
struct StalledEvents {
    private static let span = Duration.seconds(1)

    /// So many wait at the most; where what comes is not bounded by anything else, the rest is
    /// dropped.
    private let limit: Int
    private var events: [AgentEvent] = []
    /// When they are tried again.
    private(set) var endsAt: Duration?

    init(limit: Int) { self.limit = limit }

    var isEmpty: Bool { events.isEmpty }

    mutating func add(_ event: AgentEvent, at now: Duration) {
        events.append(event)
        if endsAt == nil { endsAt = now + Self.span }
    }

    /// What comes behind waits, too; false where nothing does.
    mutating func follows(_ event: AgentEvent) -> Bool {
        guard !events.isEmpty else { return false }
        if events.count < limit { events.append(event) }
        return true
    }

    /// Those whose time has come, to be tried again.
    mutating func take(at now: Duration) -> [AgentEvent] {
        guard let due = endsAt, due <= now else { return [] }
        defer { clear() }
        return events
    }

    /// The connection that brought them is gone: the local broker repeats what has no PUBACK,
    /// the authority what has no answer, and the upstream broker what is retained.
    mutating func clear() {
        events.removeAll()
        endsAt = nil
    }
}
