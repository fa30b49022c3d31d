import AuthorityCore
import PostgreSQLClient
import Sessions

/// The audit log.
extension StoreTransaction {
    func append(_ entry: AuditEntry) throws(AuthorityError) {
        noteNews()
        try run(
            """
            INSERT INTO audit (at, event, actor, installation_id, session_id, detail)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [entry.at.milliseconds, entry.event, entry.actor, entry.board?.description,
             entry.session?.description, entry.detail])
    }

    func entries(_ query: AuditQuery) throws(AuthorityError) -> [AuditEntry] {
        var conditions: [String] = []
        var values: [(any SQLBindable)?] = []
        func require(_ condition: String, _ value: (any SQLBindable)?) {
            guard let value else { return }
            conditions.append(condition)
            values.append(value)
        }
        require("installation_id = ?", query.board?.description)
        require("session_id = ?", query.session?.description)
        require("\(dialect.folded("actor")) = \(dialect.folded("?"))", query.actor)
        require("at >= ?", query.since?.milliseconds)
        require("at <= ?", query.until?.milliseconds)
        require("number < ?", query.before)
        // LIKE does not fit: `%` and `_` have a meaning there.
        require("substr(event, 1, length(CAST(? AS TEXT))) = ?", query.event)
        if let event = query.event { values.append(event) }
        let chosen = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
        let found = try rows(
            "SELECT * FROM audit \(chosen) ORDER BY number DESC LIMIT ?",
            values + [min(max(query.limit, 1), 1000)])
        return try map(found, readEntry)
    }

    func entries(
        after number: Int64, limit: Int
    ) throws(AuthorityError) -> [AuditEntry] {
        try map(
            try rows(
                """
                SELECT * FROM audit WHERE number > ? \(dialect.settled) ORDER BY number LIMIT ?
                """, [number, limit]),
            readEntry)
    }

    func newestEntry() throws(AuthorityError) -> Int64 {
        try row(dialect.newestEntry)
            .map { row throws(AuthorityError) in try row.value("newest") } ?? 0
    }

    private func readEntry(_ row: SQLRow) throws(AuthorityError) -> AuditEntry {
        AuditEntry(
            number: try row.value("number"), at: try row.time("at"),
            event: try row.value("event"), actor: try row.value("actor"),
            board: try row.parsedOptional("installation_id", InstallationID.init),
            session: try row.parsedOptional("session_id", ObjectID.init),
            detail: try row.value("detail"))
    }

    func deleteEntries(before time: Timestamp, limit: Int) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM audit WHERE number IN (
                SELECT number FROM audit WHERE at < ? ORDER BY at LIMIT ?)
            """, [time.milliseconds, limit])
    }
}
