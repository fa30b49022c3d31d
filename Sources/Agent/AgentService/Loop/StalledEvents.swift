import AgentCore

/// Events that wait for room in the store, in order. Later events wait behind them.
struct StalledEvents {
    private static let span = Duration.seconds(1)

    /// The most events that wait; further ones are dropped. `.max` where the source itself is
    /// bounded.
    private let limit: Int
    private var events: [AgentEvent] = []
    /// When the events are tried again; nil if none wait.
    private(set) var endsAt: Duration?

    init(limit: Int) { self.limit = limit }

    var isEmpty: Bool { events.isEmpty }

    mutating func add(_ event: AgentEvent, at now: Duration) {
        events.append(event)
        if endsAt == nil { endsAt = now + Self.span }
    }

    /// Adds an event behind the ones that wait. Returns false if none wait.
    mutating func follows(_ event: AgentEvent) -> Bool {
        guard !events.isEmpty else { return false }
        if events.count < limit { events.append(event) }
        return true
    }

    /// Takes all events once they are due; empty before.
    mutating func take(at now: Duration) -> [AgentEvent] {
        guard let due = endsAt, due <= now else { return [] }
        defer { clear() }
        return events
    }

    /// Drops the events, because their connection is lost. The local broker repeats messages
    /// without a PUBACK, the authority repeats messages without an answer, and the upstream broker
    /// sends retained messages again.
    mutating func clear() {
        events.removeAll()
        endsAt = nil
    }
}
