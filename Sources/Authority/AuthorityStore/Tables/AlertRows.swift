import AuthorityCore
import PostgreSQLClient
import Sessions
import Wire

extension StoreTransaction {
    func watchedBoards(
        after last: InstallationID?, limit: Int
    ) throws(AuthorityError) -> [WatchedRecords] {
        let found = try rows(
            """
            SELECT sessions.*, boards.id AS board_id, boards.name AS board_name,
                boards.device_key AS board_key, boards.owner, boards.released,
                boards.last_seen AS board_seen, boards.owned_since, reports.numbers,
                CAST(NULL AS TEXT) AS rules, reports.since
            FROM boards
            LEFT JOIN sessions ON sessions.installation_id = boards.id
                AND sessions.state = 'active' AND sessions.device_key IS NOT NULL
            LEFT JOIN reports ON reports.installation_id = boards.id
            WHERE NOT boards.released AND boards.id > ? ORDER BY boards.id LIMIT ?
            """, [last?.description ?? "", limit])
        return try map(found) { row throws(AuthorityError) in
            let hasSession = try row.optional("id", as: String.self) != nil
            return WatchedRecords(
                board: BoardRecord(
                    installation: try row.parsed("board_id", InstallationID.init),
                    name: try row.value("board_name"), deviceKey: try row.bytes("board_key"),
                    owner: try row.parsed("owner", UserID.init),
                    released: try row.value("released"),
                    lastSeen: try row.optionalTime("board_seen"),
                    ownedSince: try row.time("owned_since")),
                session: hasSession ? try readSession(row) : nil, report: try readReport(row))
        }
    }

    func openAlerts(limit: Int) throws(AuthorityError) -> [Alert] {
        try map(
            try rows(
                "SELECT * FROM alerts WHERE resolved_at IS NULL ORDER BY kind, subject LIMIT ?",
                [limit]),
            readAlert)
    }

    func alerts(
        of owner: UserID?, on board: InstallationID?, resolvedAfter resolved: Timestamp?, limit: Int
    ) throws(AuthorityError) -> [Alert] {
        let shown = (resolved == nil
            ? "resolved_at IS NULL" : "(resolved_at IS NULL OR resolved_at > ?)")
            + (board == nil ? "" : " AND subject = ?")
        let order = "ORDER BY resolved_at IS NOT NULL, opened_at DESC, alerts.id LIMIT ?"
        var chosen: [(any SQLBindable)?] = []
        if let resolved { chosen.append(resolved.milliseconds) }
        if let board { chosen.append(board.description) }
        let found = if let owner {
            try rows(
                """
                SELECT alerts.* FROM (
                    SELECT id AS place, owned_since AS since FROM boards
                    WHERE owner = ? AND NOT released
                    UNION ALL
                    SELECT id AS place, created_at AS since FROM prepared_claims
                    WHERE owner_id = ? AND second_at IS NOT NULL
                ) AS places JOIN alerts ON subject = place
                WHERE opened_at >= since AND \(shown) \(order)
                """, [owner.description, owner.description] + chosen + [limit])
        } else {
            try rows("SELECT * FROM alerts WHERE \(shown) \(order)", chosen + [limit])
        }
        return try map(found, readAlert)
    }

    func save(_ alert: Alert) throws(AuthorityError) {
        noteNews()
        try run(
            """
            INSERT INTO alerts (id, kind, subject, board_name, text, details, opened_at,
                resolved_at, messages)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                board_name = excluded.board_name, text = excluded.text,
                details = excluded.details, resolved_at = excluded.resolved_at,
                messages = excluded.messages
            """,
            [alert.id.description, alert.kind.rawValue,
             alert.board?.description ?? alert.owner?.description ?? "", alert.boardName,
             alert.text, JSONValue.object(alert.details).text, alert.openedAt.milliseconds,
             alert.resolvedAt?.milliseconds, alert.messages])
    }

    func deleteAlerts(resolvedBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM alerts WHERE id IN (
                SELECT id FROM alerts WHERE resolved_at < ? ORDER BY resolved_at LIMIT ?)
            """, [time.milliseconds, limit])
    }

    private func readAlert(_ row: SQLRow) throws(AuthorityError) -> Alert {
        let subject: String = try row.value("subject")
        let details: String = try row.value("details")
        let board = InstallationID(subject)
        let owner = board == nil ? try row.parsed("subject", UserID.init) : nil
        let members: [String: JSONValue]
        do throws(WireError) { members = try JSONObject(parsing: Array(details.utf8)).members }
        catch { throw damaged("details") }
        return Alert(
            id: try row.parsed("id", MessageID.init),
            kind: try row.parsed("kind", AlertKind.init(rawValue:)), board: board, owner: owner,
            boardName: try row.value("board_name"), text: try row.value("text"), details: members,
            openedAt: try row.time("opened_at"), resolvedAt: try row.optionalTime("resolved_at"),
            messages: try row.value("messages"))
    }
}

// Messages that are not delivered yet, and the last try on each channel.
extension StoreTransaction {
    func save(_ message: AlertMessage) throws(AuthorityError) {
        try run(
            """
            INSERT INTO alert_messages (alert_id, channel, number, state, tries, next_try, until)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (alert_id, channel, number) DO UPDATE SET
                tries = excluded.tries, next_try = excluded.next_try
            """,
            [message.alert.id.description, message.channel.rawValue, message.number,
             message.state.rawValue, message.tries, message.nextTry.milliseconds,
             message.until.milliseconds])
    }

    func remove(_ message: AlertMessage) throws(AuthorityError) {
        try run(
            "DELETE FROM alert_messages WHERE alert_id = ? AND channel = ? AND number = ?",
            [message.alert.id.description, message.channel.rawValue, message.number])
    }

    func deleteMessages(endedBefore now: Timestamp) throws(AuthorityError) {
        try run("DELETE FROM alert_messages WHERE until < ?", [now.milliseconds])
    }

    func dueMessages(
        on channel: AlertChannel, at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> [AlertMessage] {
        let found = try rows(
            """
            SELECT alerts.*, m.channel, m.number, m.state, m.tries, m.next_try, m.until
            FROM alert_messages AS m JOIN alerts ON alerts.id = m.alert_id
            WHERE m.channel = ? AND m.next_try <= ? AND NOT EXISTS (
                SELECT 1 FROM alert_messages AS earlier WHERE earlier.alert_id = m.alert_id
                    AND earlier.channel = m.channel AND earlier.number < m.number)
            ORDER BY m.next_try, m.alert_id, m.number LIMIT ?
            """, [channel.rawValue, now.milliseconds, limit])
        return try map(found) { row throws(AuthorityError) in
            AlertMessage(
                alert: try readAlert(row),
                channel: try row.parsed("channel", AlertChannel.init(rawValue:)),
                number: try row.value("number"),
                state: try row.parsed("state", AlertMessage.State.init(rawValue:)),
                tries: try row.value("tries"), nextTry: try row.time("next_try"),
                until: try row.time("until"))
        }
    }

    func note(_ delivery: AlertDelivery) throws(AuthorityError) {
        try run(
            """
            INSERT INTO alert_deliveries (channel, at, failure) VALUES (?, ?, ?)
            ON CONFLICT (channel) DO UPDATE SET at = excluded.at, failure = excluded.failure
            """,
            [delivery.channel.rawValue, delivery.at.milliseconds, delivery.failure])
    }

    func alertDeliveries() throws(AuthorityError) -> [AlertDelivery] {
        try map(try rows("SELECT * FROM alert_deliveries ORDER BY channel")) {
            row throws(AuthorityError) in
            AlertDelivery(
                channel: try row.parsed("channel", AlertChannel.init(rawValue:)),
                at: try row.time("at"), failure: try row.optional("failure"))
        }
    }
}
