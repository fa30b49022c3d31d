import AuthorityCore
import PostgreSQLClient
import Sessions

/// Broker logins of people, and failed logins.
extension StoreTransaction {
    func personLogin(_ session: ObjectID) throws(AuthorityError) -> PersonLogin? {
        try row("SELECT * FROM person_logins WHERE session_id = ?", [session.description])
            .map(readPersonLogin)
    }

    func personLogins(of user: UserID) throws(AuthorityError) -> [PersonLogin] {
        try map(
            try rows("SELECT * FROM person_logins WHERE user_id = ?", [user.description]),
            readPersonLogin)
    }

    func sessionsWithPersonLogin() throws(AuthorityError) -> [ObjectID] {
        try every("session_id", in: "person_logins", ObjectID.init)
    }

    func save(_ login: PersonLogin) throws(AuthorityError) {
        try run(
            """
            INSERT INTO person_logins (session_id, user_id, password) VALUES (?, ?, ?)
            ON CONFLICT (session_id) DO UPDATE SET password = excluded.password
            """,
            [login.session.description, login.user.description,
             try wrapping.wrap(login.password, place: place(of: login.session))])
    }

    func deletePersonLogin(_ session: ObjectID) throws(AuthorityError) {
        try run("DELETE FROM person_logins WHERE session_id = ?", [session.description])
    }

    private func place(of session: ObjectID) -> String { "person_logins.password \(session)" }

    private func readPersonLogin(_ row: SQLRow) throws(AuthorityError) -> PersonLogin {
        let session = try row.parsed("session_id", ObjectID.init)
        return PersonLogin(
            session: session, user: try row.parsed("user_id", UserID.init),
            password: try wrapping.unwrap(
                try row.bytes("password"), place: place(of: session)))
    }

    /// Longer than the window in which failures count.
    private static let countedAhead = Duration.seconds(3600)

    func failure(
        _ key: String, skipping skipped: Int, since: Timestamp
    ) throws(AuthorityError) -> Timestamp? {
        // A failure that was stored while the clock was years ahead must not count for years.
        try row(
            """
            SELECT at FROM failures WHERE key = ?1 AND at BETWEEN ?2 AND ?3
            ORDER BY at DESC LIMIT 1 OFFSET ?4
            """,
            [key, since.milliseconds, (since + Self.countedAhead).milliseconds, Int64(skipped)]
        ).map { row throws(AuthorityError) in try row.time("at") }
    }

    func countFailure(_ key: String, at now: Timestamp) throws(AuthorityError) {
        try run("INSERT INTO failures (key, at) VALUES (?, ?)", [key, now.milliseconds])
    }

    func clearFailures(_ key: String) throws(AuthorityError) {
        try run("DELETE FROM failures WHERE key = ?", [key])
    }

    func forgiveFailure(_ key: String) throws(AuthorityError) {
        try run(
            """
            DELETE FROM failures WHERE number = (
                SELECT number FROM failures WHERE key = ? ORDER BY at DESC LIMIT 1)
            """, [key])
    }

    func deleteFailures(before time: Timestamp) throws(AuthorityError) {
        try run(
            "DELETE FROM failures WHERE at < ?1 OR at > ?2",
            [time.milliseconds, (time + Self.countedAhead).milliseconds])
    }
}
