import AuthorityCore
import Sessions

/// The latest time that any service of this store has believed. It is kept across restarts.
extension StoreTransaction {
    func latestTime() throws(AuthorityError) -> Timestamp? {
        try row("SELECT at FROM times WHERE name = 'latest'")
            .map { row throws(AuthorityError) in try row.time("at") }
    }

    func raiseLatestTime(to time: Timestamp) throws(AuthorityError) {
        try run(
            """
            INSERT INTO times (name, at) VALUES ('latest', ?)
            ON CONFLICT (name) DO UPDATE SET
                at = CASE WHEN times.at > excluded.at THEN times.at ELSE excluded.at END
            """, [time.milliseconds])
    }

    func resetLatestTime(to time: Timestamp) throws(AuthorityError) {
        try run(
            """
            INSERT INTO times (name, at) VALUES ('latest', ?)
            ON CONFLICT (name) DO UPDATE SET at = excluded.at
            """, [time.milliseconds])
    }
}
