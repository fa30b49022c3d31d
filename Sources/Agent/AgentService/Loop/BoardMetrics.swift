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
            "postern_build_info", .gauge, "Always 1; the label is the running version.",
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
            "postern_session_state", .gauge, "1 for the state that the session is in.",
            states.map { MetricsText.Sample([("state", $0)], $0 == current ? 1 : 0) })
        text.gauge(
            "postern_session_expiry_seconds",
            "Seconds until the session ends; absent if it does not.",
            seconds(until: agent.expiresAt))
        text.gauge(
            "postern_session_offline_seconds",
            "Seconds until the session stops without contact with its authority.",
            seconds(until: agent.graceEnds))
        text.gauge(
            "postern_heartbeat_age_seconds", "Seconds since the authority last answered.",
            seconds(until: agent.lastContact).map { -$0 })
        text.gauge(
            "postern_clock_set", "1 while the board's clock is set.", agent.isClockSet)
    }

    private func addQueue(to text: inout MetricsText) {
        let health = agent.health
        text.gauge("postern_queue_messages", "Messages that wait for the uplink.", health.messages)
        text.gauge("postern_queue_bytes", "Bytes that these messages use.", health.bytes)
        text.gauge(
            "postern_queue_limit_bytes", "The most bytes that the queue may use.",
            agent.queueLimit)
        text.gauge(
            "postern_queue_oldest_seconds", "The age of the oldest message; absent if none waits.",
            seconds(until: health.oldest).map { max(0, -$0) })
        text.gauge(
            "postern_queue_hours_left",
            "Hours until the queue is full at the present rate; absent if it does not grow.",
            health.hoursLeft)
        text.gauge(
            "postern_queue_in_bytes_per_second", "Bytes/s into the queue, over five minutes.",
            health.bytesPerSecondIn)
        text.gauge(
            "postern_queue_out_bytes_per_second", "Bytes/s out of the queue, over five minutes.",
            health.bytesPerSecondOut)
        text.gauge("postern_dead_letters", "Messages that no broker accepts.", health.dead)
        text.gauge(
            "postern_store_stalled", "1 while no write is accepted because none can be stored.",
            isStalled)
        text.gauge("postern_degraded", "1 while the agent works, but degraded.", isDegraded)
    }

    private func addTraffic(to text: inout MetricsText) {
        text.counter(
            "postern_messages_accepted_total", "Writes of apps that were accepted.",
            agent.accepted)
        text.counter(
            "postern_messages_forwarded_total", "Writes that the upstream broker accepted.",
            forwarded)
        text.family(
            "postern_messages_refused_total", .counter,
            "Writes of apps that were refused, by app and rule.",
            agent.health.refusals.map { refusal in
                MetricsText.Sample(
                    [("app", refusal.app), ("rule", refusal.rule)], Double(refusal.count))
            })
        text.family(
            "postern_messages_dropped_total", .counter,
            "Accepted writes that were dropped for room or age, by class, since the first start.",
            agent.health.namedDrops.sorted { $0.key < $1.key }.map { name, count in
                MetricsText.Sample([("class", name)], Double(count))
            })
        text.family(
            "postern_messages_lost_total", .counter,
            "Accepted writes that never arrive, by cause, since the first start.",
            QueueLosses.Cause.allCases.map { cause in
                MetricsText.Sample(
                    [("cause", cause.rawValue)], Double(agent.losses.causes[cause] ?? 0))
            })
        let commands = agent.commands
        text.family(
            "postern_commands_total", .counter, "Commands for apps, by result.",
            [
                ("delivered", commands.delivered), ("answered", commands.answered),
                ("refused", commands.refused), ("expired", commands.expired),
            ].map { MetricsText.Sample([("result", $0.0)], Double($0.1)) })
        text.counter(
            "postern_publish_refused_total", "How often the upstream broker refused a write.",
            refusedUpstream)
        text.counter(
            "postern_inbox_dropped_total", "Messages of the authority that could not be opened.",
            agent.health.dropped)
    }

    private func addWays(to text: inout MetricsText) {
        text.gauge("postern_uplink_up", "1 while the upstream broker is connected.",
                   agent.isUplinkReady)
        text.counter(
            "postern_uplink_connects_total", "How often the agent connected upstream.",
            agent.connects)
        text.gauge(
            "postern_bus_up", "1 while the local broker is connected.", agent.isBusConnected)
        text.gauge(
            "postern_bus_reading", "0 while the outbox is full or the session offline too long.",
            agent.isReading)
        text.gauge(
            "postern_bus_stored_messages", "Messages in the local broker, if it reports them.",
            agent.health.bus?.stored)
        if let dropped = agent.health.bus?.dropped {
            text.counter(
                "postern_bus_dropped_total", "Messages the local broker dropped since its start.",
                dropped)
        }
    }

    private func seconds(until time: Timestamp?) -> Double? {
        time.map { ($0 - agent.now) / .seconds(1) }
    }
}
