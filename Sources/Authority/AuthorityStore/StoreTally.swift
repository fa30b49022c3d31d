import AuthorityCore
import PostgreSQLClient

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
                count(*) FILTER (WHERE state = 'active' AND restricted) AS boards
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
            bytes: try count(dialect.size), openAlerts: try openAlerts())
    }

    private func openAlerts() throws(AuthorityError) -> [String: Int64] {
        let counts = try map(try rows(
            """
            SELECT kind, count(*) AS number FROM alerts
            WHERE resolved_at IS NULL AND subject <> '' GROUP BY kind
            """)
        ) { row throws(AuthorityError) -> (String, Int64) in
            (try row.value("kind"), try row.value("number"))
        }
        return Dictionary(counts) { $0 + $1 }
    }
}
