import AuthorityCore

/// How much an authority has in its store, counted when asked.
package struct StoreTally: Equatable, Sendable {
    package var users: Int64
    package var boards: Int64
    /// Boards whose last status says that they are up.
    package var boardsUp: Int64
    /// Sessions that live, those of people and those of boards.
    package var sessionsOfPeople: Int64
    package var sessionsOfBoards: Int64
    /// Sessions that are over and still on record, by why.
    package var endings: [String: Int64]
    /// Boards that bear what this store did not issue.
    package var boardsAhead: Int64
    /// The database, without the journal of what is under way.
    package var bytes: Int64
}

extension StoreTransaction {
    func tally() throws(AuthorityError) -> StoreTally {
        func first(_ sql: String) throws(AuthorityError) -> SQLRow {
            guard let row = try row(sql) else { throw .failed(layer: "store", text: "no count") }
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
        // One pass without a condition: by an index on `state` SQLite would look up every row.
        let live = try first(
            """
            SELECT count(*) FILTER (WHERE state = 'active' AND NOT restricted) AS people,
                count(*) FILTER (WHERE state = 'active' AND restricted) AS boards
            FROM sessions
            """)
        // Found in the text, which `BoardStatus.payload` wrote: a quotation mark within a
        // board's own words has a backslash. PostgreSQL's JSON refuses what may be in it.
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
            bytes: try count(dialect.size))
    }
}
