package import Gate
package import Sessions
package import Wire

/// How the agent is, as numbers: for the service manager's status and for monitoring. There is
/// no name of a person and no secret in it.
package struct AgentFigures: Sendable {
    package var state: SessionState
    /// When the session ends; nil without a session, or where it has no end.
    package var expiresAt: Timestamp?
    /// When an outage that goes on stops the session; nil without a session.
    package var graceEnds: Timestamp?
    /// When the authority was heard last; nil without a session.
    package var lastContact: Timestamp?
    /// The board's time, as it reckons it.
    package var now: Timestamp
    package var isClockSet: Bool
    package var health: HealthNotice
    /// Of all times: by what cause accepted writes never arrive.
    package var losses: QueueLosses
    package var queueLimit: Int64
    package var accepted: Int64
    package var isUplinkReady: Bool
    package var connects: Int64
    package var isBusConnected: Bool
    /// False while the outbox is full, or the offline grace over.
    package var isReading: Bool
}

extension Agent {
    package func figures(at instant: Instant) -> AgentFigures {
        let held = records.session
        return AgentFigures(
            state: sessionState(at: instant), expiresAt: held?.session.expiresAt,
            graceEnds: held?.graceEnds(own: settings.offline), lastContact: held?.lastContact,
            now: clock.now(at: instant), isClockSet: !clock.isUnset(at: instant),
            health: health(up: true, at: instant), losses: queue.losses,
            queueLimit: settings.queueLimit, accepted: accepted, isUplinkReady: uplink.isReady,
            connects: uplink.connects, isBusConnected: bus.isConnected,
            isReading: bus.isReading && !bus.isHolding)
    }
}

extension AgentFigures {
    /// One line for people: the session, what waits, and the way upstream.
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
