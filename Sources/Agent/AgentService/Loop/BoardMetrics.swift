import AgentCore
import Gate
import MetricsServer
import Sessions
import Wire

/// The board's metrics. Dashboards and alarms depend on the names, so a metric never changes its
/// meaning. They contain no person's name and no secret.
struct BoardMetrics {
    let agent: AgentMetrics
    /// Writes that the upstream broker has accepted since this start.
    let forwarded: Int64
    /// How often the upstream broker refused a write since this start.
    let refusedUpstream: Int64
    let isStalled: Bool
    let isDegraded: Bool

    var text: MetricsText {
        var text = MetricsText()
        text.family(
            "postern_build_info", .gauge, "1, with the version that runs.",
            [MetricsText.Sample([("version", Release.version)], 1)])
        addSession(to: &text)
        addQueue(to: &text)
        addTraffic(to: &text)
        addWays(to: &text)
        return text
    }

    private func addSession(to text: inout MetricsText) {
        let isAvailable = agent.state == .available
        text.gauge("postern_session_available", "1 while the board has a session.", isAvailable)
        let states = ["available"] + UnavailableReason.allCases.map(\.rawValue)
        let current = if case .unavailable(let reason) = agent.state { reason.rawValue } else {
            "available"
        }
        text.family(
            "postern_session_state", .gauge, "1 at the state that the session is in.",
            states.map { MetricsText.Sample([("state", $0)], $0 == current ? 1 : 0) })
        text.gauge(
            "postern_session_expiry_seconds",
            "Until the session ends; absent where it does not.", seconds(until: agent.expiresAt))
        text.gauge(
            "postern_session_offline_seconds",
            "Until the session stops for want of contact with its authority.",
            seconds(until: agent.graceEnds))
        text.gauge(
            "postern_heartbeat_age_seconds", "Since the authority was heard last.",
            seconds(until: agent.lastContact).map { -$0 })
        text.gauge(
            "postern_clock_set", "1 while the board's clock is believed.", agent.isClockSet)
    }

    private func addQueue(to text: inout MetricsText) {
        let health = agent.health
        text.gauge("postern_queue_messages", "Messages that wait for the uplink.", health.messages)
        text.gauge("postern_queue_bytes", "What they take.", health.bytes)
        text.gauge("postern_queue_limit_bytes", "The most they may take.", agent.queueLimit)
        text.gauge(
            "postern_queue_oldest_seconds", "The age of the oldest; absent where none waits.",
            seconds(until: health.oldest).map { max(0, -$0) })
        text.gauge(
            "postern_queue_hours_left",
            "How long the room lasts at the present rate; absent while the queue does not grow.",
            health.hoursLeft)
        text.gauge(
            "postern_queue_in_bytes_per_second", "Into the queue, over five minutes.",
            health.bytesPerSecondIn)
        text.gauge(
            "postern_queue_out_bytes_per_second", "Out of the queue, over five minutes.",
            health.bytesPerSecondOut)
        text.gauge("postern_dead_letters", "Messages that no broker takes.", health.dead)
        text.gauge(
            "postern_store_stalled", "1 while nothing is accepted because it cannot be kept.",
            isStalled)
        text.gauge("postern_degraded", "1 while the agent works with a part missing.", isDegraded)
    }

    private func addTraffic(to text: inout MetricsText) {
        text.counter(
            "postern_messages_accepted_total", "Writes of apps that were accepted.",
            agent.accepted)
        text.counter(
            "postern_messages_forwarded_total", "Writes that the upstream broker took.", forwarded)
        text.family(
            "postern_messages_refused_total", .counter,
            "Writes of apps that were refused, by the rule that did.",
            agent.health.refusals.map { refusal in
                MetricsText.Sample(
                    [("app", refusal.app), ("rule", refusal.rule)], Double(refusal.count))
            })
        text.family(
            "postern_messages_dropped_total", .counter,
            "Accepted writes that were dropped for room or age, by class, of all times.",
            agent.health.namedDrops.sorted { $0.key < $1.key }.map { name, count in
                MetricsText.Sample([("class", name)], Double(count))
            })
        text.family(
            "postern_messages_lost_total", .counter,
            "Accepted writes that never arrive, by cause, of all times.",
            QueueLosses.Cause.allCases.map { cause in
                MetricsText.Sample(
                    [("cause", cause.rawValue)], Double(agent.losses.causes[cause] ?? 0))
            })
        text.counter(
            "postern_publish_refused_total", "How often the upstream broker did not take a write.",
            refusedUpstream)
        text.counter(
            "postern_inbox_dropped_total", "Messages of the authority that could not be opened.",
            agent.health.dropped)
    }

    private func addWays(to text: inout MetricsText) {
        text.gauge("postern_uplink_up", "1 while the upstream broker is there.",
                   agent.isUplinkReady)
        text.counter(
            "postern_uplink_connects_total", "How often the way upstream was made.",
            agent.connects)
        text.gauge("postern_bus_up", "1 while the local broker is there.", agent.isBusConnected)
        text.gauge(
            "postern_bus_reading", "0 while the outbox is full or the session offline too long.",
            agent.isReading)
        text.gauge(
            "postern_bus_stored_messages", "What the local broker holds, if it tells.",
            agent.health.bus?.stored)
        if let dropped = agent.health.bus?.dropped {
            text.counter(
                "postern_bus_dropped_total", "What the local broker dropped since its start.",
                dropped)
        }
    }

    private func seconds(until time: Timestamp?) -> Double? {
        time.map { ($0 - agent.now) / .seconds(1) }
    }
}
