package import Gate
package import Sessions
package import Wire

/// The agent's metrics, for the service manager's status and for monitoring. They contain no
/// person's name and no secret.
package struct AgentMetrics: Sendable {
    package var state: SessionState
    /// When the session ends. Nil without a session or without an end.
    package var expiresAt: Timestamp?
    /// When the session stops if the outage continues. Nil without a session.
    package var graceEnds: Timestamp?
    /// The last contact with the authority. Nil without a session.
    package var lastContact: Timestamp?
    /// The board's time, as `BoardClock` computes it.
    package var now: Timestamp
    package var isClockSet: Bool
    package var health: HealthNotice
    /// Accepted writes that will never arrive, by cause, since the first start.
    package var losses: QueueLosses
    package var queueLimit: Int64
    package var accepted: Int64
    package var commands: CommandCounts
    package var isUplinkReady: Bool
    package var connects: Int64
    package var isBusConnected: Bool
    /// False while the outbox is full or the offline grace has ended.
    package var isReading: Bool
}

extension Agent {
    package func figures(at instant: Instant) -> AgentMetrics {
        let held = records.session
        return AgentMetrics(
            state: sessionState(at: instant), expiresAt: held?.session.expiresAt,
            graceEnds: held?.graceEnds(own: settings.offline), lastContact: held?.lastContact,
            now: clock.now(at: instant), isClockSet: !clock.isUnset(at: instant),
            health: health(up: true, at: instant), losses: outbox.queue.losses,
            queueLimit: settings.queueLimit, accepted: outbox.accepted, commands: commands.counts,
            isUplinkReady: uplink.isReady, connects: uplink.connects,
            isBusConnected: bus.isConnected, isReading: bus.isReading && !bus.isHolding)
    }
}

extension AgentMetrics {
    /// One line for people: the session, the waiting messages, and the uplink.
    package var sentence: String {
        let session = switch state {
        case .available:
            "session available" + (expiresAt.map { " until \(Self.minute($0)) UTC" } ?? "")
        case .unavailable(let reason): "session unavailable (\(reason.rawValue))"
        }
        let bus = isBusConnected ? nil : "local broker away"
        return [session, "\(health.messages) waiting", "uplink \(health.uplink)", bus]
            .compactMap(\.self).joined(separator: "; ")
    }

    /// `2026-11-21 03:20`
    private static func minute(_ time: Timestamp) -> String {
        String(ParseDate.print(time).prefix(16)).split(separator: "T").joined(separator: " ")
    }
}
