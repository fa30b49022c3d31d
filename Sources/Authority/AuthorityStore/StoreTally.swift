import AuthorityCore
import PostgreSQLClient
package import Sessions

/// Counts of an authority's store, taken when asked.
package struct StoreTally: Equatable, Sendable {
    package var users: Int64
    package var boards: Int64
    /// Boards whose last status is `up`.
    package var boardsUp: Int64
    /// Active sessions of people. The next count has those of boards.
    package var sessionsOfPeople: Int64
    package var sessionsOfBoards: Int64
    /// Ended sessions that are still stored, by reason.
    package var endings: [String: Int64]
    /// Boards that hold something that this store did not issue.
    package var boardsAhead: Int64
    /// The size of the database in bytes, without its log.
    package var bytes: Int64
    /// Open alerts about single boards, by kind.
    package var openAlerts: [String: Int64] = [:]
    package var firsts = BoardSessionFirsts()
}

/// The earliest times among the active sessions of boards. Nil: there is none.
package struct BoardSessionFirsts: Equatable, Sendable {
    package var expiresAt: Timestamp?
    package var absoluteLimit: Timestamp?
    package var createdAt: Timestamp?
    package var lastSeen: Timestamp?

    package init() {}

    /// When the next session of a board ends by itself. Nil: none has a known end.
    package func nextEnd(under lifetimes: LifetimePolicy) -> Timestamp? {
        let ends = [
            expiresAt, absoluteLimit,
            createdAt.flatMap { made in lifetimes.absolute.map { made + $0 } },
            lastSeen.flatMap { seen in lifetimes.idle.map { seen + $0 } },
        ]
        return ends.compactMap(\.self).min()
    }
}

extension StoreTransaction {
    func tally() throws(AuthorityError) -> StoreTally {
        func first(_ sql: String) throws(AuthorityError) -> SQLRow {
            guard let row = try row(sql) else {
                throw .failed(layer: "store", text: "the database returned no count")
            }
            return row
        }
        func count(_ sql: String) throws(AuthorityError) -> Int64 {
            try first(sql).value("number")
        }
        let ended = try map(try rows(
            """
            SELECT coalesce(end_reason, 'unknown') AS reason, count(*) AS number
            FROM sessions WHERE state = 'ended' GROUP BY coalesce(end_reason, 'unknown')
            """)
        ) { row throws(AuthorityError) -> (String, Int64) in
            (try row.value("reason"), try row.value("number"))
        }
        // One pass without a condition: with an index on `state`, SQLite would look up every row.
        let live = try first(
            """
            SELECT count(*) FILTER (WHERE state = 'active' AND NOT restricted) AS people,
                count(*) FILTER (WHERE state = 'active' AND restricted) AS boards,
                \(Self.first("expires_at")), \(Self.first("created_at")),
                \(Self.first("last_seen")), \(Self.first("absolute_limit"))
            FROM sessions
            """)
        // Searches the text that `BoardStatus.payload` wrote. A quotation mark inside a board's own
        // text has a backslash, so it cannot match. PostgreSQL's JSON type would refuse some of
        // these texts.
        let boards = try first(
            """
            SELECT count(*) AS number, count(installation_id) AS up
            FROM boards LEFT JOIN statuses
                ON installation_id = id AND status LIKE '%"status":"up"%'
            WHERE NOT released
            """)
        return StoreTally(
            users: try count("SELECT count(*) AS number FROM users"),
            boards: try boards.value("number"), boardsUp: try boards.value("up"),
            sessionsOfPeople: try live.value("people"), sessionsOfBoards: try live.value("boards"),
            endings: Dictionary(ended) { $0 + $1 },
            boardsAhead: try count("SELECT count(*) AS number FROM ahead"),
            bytes: try count(dialect.size), openAlerts: try openAlerts(),
            firsts: try firsts(live))
    }

    private static func first(_ column: String) -> String {
        """
        min(\(column)) FILTER (WHERE state = 'active' AND device_key IS NOT NULL) AS \(column)
        """
    }

    private func firsts(_ row: SQLRow) throws(AuthorityError) -> BoardSessionFirsts {
        var firsts = BoardSessionFirsts()
        firsts.expiresAt = try row.optionalTime("expires_at")
        firsts.createdAt = try row.optionalTime("created_at")
        firsts.lastSeen = try row.optionalTime("last_seen")
        // No limit is the largest number.
        let limit: Int64? = try row.optional("absolute_limit")
        firsts.absoluteLimit = limit.flatMap { $0 == .max ? nil : Timestamp(milliseconds: $0) }
        return firsts
    }

    private func openAlerts() throws(AuthorityError) -> [String: Int64] {
        let counts = try map(try rows(
            """
            SELECT kind, count(*) AS number FROM alerts
            WHERE resolved_at IS NULL AND subject IN (SELECT id FROM boards) GROUP BY kind
            """)
        ) { row throws(AuthorityError) -> (String, Int64) in
            (try row.value("kind"), try row.value("number"))
        }
        return Dictionary(counts) { $0 + $1 }
    }
}
