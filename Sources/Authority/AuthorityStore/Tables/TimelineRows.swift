import AuthorityCore
import PostgreSQLClient
import Sessions

/// The timeline of boards' sessions, and the boards that changed last.
extension StoreTransaction {
    func append(
        _ entry: TimelineEntry, to board: InstallationID
    ) throws(AuthorityError) {
        // One statement: a refresh is the most common event, and costs no more than this.
        try run(
            """
            INSERT INTO timeline (
                number, installation_id, session_id, event, at, until, count, detail)
            VALUES (
                coalesce(
                    (SELECT CASE WHEN event = ?3 AND session_id IS NOT DISTINCT FROM ?2
                        THEN number END
                     FROM timeline WHERE installation_id = ?1 ORDER BY number DESC LIMIT 1),
                    \(dialect.newTimelineNumber)),
                ?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (number) DO UPDATE SET
                until = CASE WHEN timeline.until > excluded.until
                    THEN timeline.until ELSE excluded.until END,
                count = timeline.count + excluded.count, detail = excluded.detail
            """,
            [board.description, entry.session?.description, entry.event.rawValue,
             entry.at.milliseconds, entry.until.milliseconds, entry.count, entry.detail])
    }

    func forgetTimeline(
        of board: InstallationID, but session: ObjectID
    ) throws(AuthorityError) {
        try run(
            """
            DELETE FROM timeline
            WHERE installation_id = ? AND session_id IS DISTINCT FROM ?
            """,
            [board.description, session.description])
    }

    func timeline(of board: InstallationID) throws(AuthorityError) -> [TimelineEntry] {
        try map(
            try rows(
                "SELECT * FROM timeline WHERE installation_id = ? ORDER BY number DESC LIMIT ?",
                [board.description, TimelineRules.limit]),
            readEntry)
    }

    func newest(
        _ events: Set<TimelineEvent>, on board: InstallationID
    ) throws(AuthorityError) -> TimelineEntry? {
        let places = events.map { _ in "?" }.joined(separator: ", ")
        let found = try rows(
            """
            SELECT * FROM timeline WHERE installation_id = ? AND event IN (\(places))
            ORDER BY number DESC LIMIT 1
            """, [board.description] + events.map(\.rawValue))
        return try map(found, readEntry).first
    }

    private func readEntry(_ row: SQLRow) throws(AuthorityError) -> TimelineEntry {
        TimelineEntry(
            event: try row.parsed("event", TimelineEvent.init(rawValue:)),
            session: try row.parsedOptional("session_id", ObjectID.init),
            at: try row.time("at"), until: try row.time("until"),
            count: try row.value("count"), detail: try row.value("detail"))
    }

    func touch(_ board: InstallationID) throws(AuthorityError) {
        noteNews()
        try run(dialect.touch, [board.description])
    }

    func touched(
        after number: Int64, limit: Int
    ) throws(AuthorityError) -> [TouchedBoard] {
        try map(
            try rows(
                """
                SELECT * FROM touches WHERE number > ? \(dialect.settled)
                ORDER BY number LIMIT ?
                """, [number, limit])
        ) { row throws(AuthorityError) in
            TouchedBoard(
                number: try row.value("number"),
                board: try row.parsed("installation_id", InstallationID.init))
        }
    }

    func newestTouch() throws(AuthorityError) -> Int64 {
        try row(
            """
            SELECT coalesce(max(number), 0) AS newest FROM touches WHERE true \(dialect.settled)
            """)
            .map { row throws(AuthorityError) in try row.value("newest") } ?? 0
    }
}
