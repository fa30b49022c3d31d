import AuthorityCore
import AuthorityStore
import MetricsServer
import Sessions

/// The authority's metrics. Dashboards and alarms depend on the names, so a name never changes its
/// meaning. No metric holds a person's name, a board's name or a secret.
struct AuthorityMetrics {
    let counted: TallyCache.Counted
    let traffic: TrafficTally
    let refusals: [RefusalReason: Int]
    let isBrokerUp: Bool
    let isClockBelieved: Bool
    let isDiskFull: Bool
    let lifetimes: LifetimePolicy
    let now: Timestamp
    /// Tries to send alerts since the start.
    var alerts: [AlertChannel: AlertCount] = [:]
    /// Nil: the authority keeps no data.
    var data: DataTally.Counts?

    var text: MetricsText {
        var text = MetricsText()
        text.family(
            "postern_authority_build_info", .gauge, "Always 1. The label is the version.",
            [MetricsText.Sample([("version", ServiceSettings.version)], 1)])
        text.gauge(
            "postern_authority_broker_up", "1 while the boards' broker is connected.", isBrokerUp)
        text.gauge(
            "postern_authority_clock_believed", "0 while the clock is too wrong to use.",
            isClockBelieved)
        text.gauge(
            "postern_authority_boards_ahead",
            "Boards that are ahead of the store, because a backup was restored.",
            counted.tally.boardsAhead)
        text.gauge(
            "postern_authority_disk_full",
            "1 while changes fail because the disk of the store is full.", isDiskFull)
        addStore(to: &text)
        addTraffic(to: &text)
        addAlerts(to: &text)
        if let data { add(data, to: &text) }
        text.family(
            "postern_authority_refusals_total", .counter,
            "Refused requests of people and boards, by reason; foreign-token means a stolen token.",
            refusals.sorted { $0.key.rawValue < $1.key.rawValue }.map { reason, count in
                MetricsText.Sample([("reason", reason.rawValue)], Double(count))
            })
        return text
    }

    private func addStore(to text: inout MetricsText) {
        let tally = counted.tally
        text.gauge(
            "postern_authority_count_age_seconds",
            "The age of the counts of boards, users, sessions and database bytes. A count is kept "
                + "for 50 times as long as counting took, at most 5 minutes.",
            (counted.age / .milliseconds(1)).rounded() / 1000)
        text.gauge("postern_authority_users", "Users.", tally.users)
        text.gauge("postern_authority_boards", "Boards that have an owner.", tally.boards)
        text.gauge(
            "postern_authority_boards_up", "Boards whose last status is up.", tally.boardsUp)
        text.family(
            "postern_authority_sessions", .gauge, "Live sessions, by kind of owner.", [
                MetricsText.Sample([("of", "board")], Double(tally.sessionsOfBoards)),
                MetricsText.Sample([("of", "person")], Double(tally.sessionsOfPeople)),
            ])
        text.gauge(
            "postern_authority_session_ends_seconds",
            "Seconds until the next session of a board ends by itself; absent if none does.",
            tally.firsts.nextEnd(under: lifetimes).map { ($0 - now) / .seconds(1) })
        text.family(
            "postern_authority_sessions_ended", .gauge,
            "Ended sessions in the store, by reason; reuse means a stolen token.",
            tally.endings.sorted { $0.key < $1.key }.map { reason, count in
                MetricsText.Sample([("reason", reason)], Double(count))
            })
        text.gauge(
            "postern_authority_database_bytes",
            "The size of the database, without its write-ahead log.", tally.bytes)
    }

    private func add(_ data: DataTally.Counts, to text: inout MetricsText) {
        text.gauge(
            "postern_authority_data_waiting",
            "1 while what boards send waits at the broker, because it cannot be stored.",
            data.waiting != nil)
        if let usage = data.usage {
            text.gauge("postern_authority_data_records", "Records of boards.", usage.records)
            text.gauge(
                "postern_authority_data_bytes", "The size of the records on disk.", usage.disk)
        }
        text.gauge(
            "postern_authority_data_oldest_seconds", "The age of the oldest record.",
            data.usage?.oldest.map { (now - $0) / .seconds(1) })
        text.counter(
            "postern_authority_data_stored_total", "Records that were stored.",
            Int64(data.stored))
        text.counter(
            "postern_authority_data_repeated_total",
            "Records that the broker delivered again; they are stored once.",
            Int64(data.repeated))
        text.family(
            "postern_authority_data_unkept_total", .counter,
            "Messages of boards that were not kept, by reason; no-seq: sent by MQTT 3.1.1.",
            UnkeptReason.allCases.map { reason in
                MetricsText.Sample(
                    [("reason", reason.rawValue)], Double(data.unkept[reason] ?? 0))
            })
        text.family(
            "postern_authority_data_deleted_total", .counter,
            "Records that were deleted, by reason: older than keep, or over max_bytes.", [
                MetricsText.Sample([("reason", "old")], Double(data.trimmed.old)),
                MetricsText.Sample([("reason", "oversize")], Double(data.trimmed.oversize)),
            ])
    }

    private func addAlerts(to text: inout MetricsText) {
        text.family(
            "postern_authority_alerts_open", .gauge, "Open alerts about boards, by kind.",
            AlertKind.allCases.map { kind in
                MetricsText.Sample(
                    [("kind", kind.rawValue)], Double(counted.tally.openAlerts[kind.rawValue] ?? 0))
            })
        let channels = alerts.sorted { $0.key.rawValue < $1.key.rawValue }
        for (name, about, count) in [
            ("sent", "Messages about alerts that were sent, by channel.", \AlertCount.sent),
            ("failed", "Failed tries to send a message about an alert, by channel.", \.failed),
        ] {
            text.family(
                "postern_authority_alerts_\(name)_total", .counter, about,
                channels.map { channel, counts in
                    MetricsText.Sample(
                        [("channel", channel.rawValue)], Double(counts[keyPath: count]))
                })
        }
    }

    private func addTraffic(to text: inout MetricsText) {
        text.family(
            "postern_authority_requests_total", .counter,
            "Requests of boards that could be decrypted, by type.",
            traffic.requests.sorted { $0.key < $1.key }.map { type, count in
                MetricsText.Sample([("type", type)], Double(count))
            })
        text.family(
            "postern_authority_dropped_total", .counter,
            "Dropped messages of boards, by reason.",
            traffic.dropped.sorted { $0.key < $1.key }.map { reason, count in
                MetricsText.Sample([("reason", reason)], Double(count))
            })
        text.family(
            "postern_authority_shed_total", .counter,
            "Requests of boards not handled because of overload: refused with 155, or dropped.", [
                MetricsText.Sample([("answer", "dropped")], Double(traffic.shed.dropped)),
                MetricsText.Sample([("answer", "refused")], Double(traffic.shed.refused)),
            ])
    }
}

/// Counts what boards sent since the start.
struct TrafficTally: Equatable, Sendable {
    var requests: [String: Int] = [:]
    var dropped: [String: Int] = [:]
    /// Requests that were shed because of overload.
    var shed = SheddingTally()
}
