import AuthorityCore
import Foundation
import GRDB
import Sessions

/// People's broker logins, the audit log, failed logins, and the authority's keys.
extension SQLiteTransaction {
    func personLogin(_ session: ObjectID) throws(AuthorityError) -> PersonLogin? {
        try row("SELECT * FROM person_logins WHERE session_id = ?", [session.description])
            .map(readPersonLogin)
    }

    func personLogins(of user: UserID?) throws(AuthorityError) -> [PersonLogin] {
        let found = if let user {
            try rows("SELECT * FROM person_logins WHERE user_id = ?", [user.description])
        } else {
            try rows("SELECT * FROM person_logins")
        }
        return try map(found, readPersonLogin)
    }

    func save(_ login: PersonLogin) throws(AuthorityError) {
        try run(
            """
            INSERT INTO person_logins (session_id, user_id, password) VALUES (?, ?, ?)
            ON CONFLICT (session_id) DO UPDATE SET password = excluded.password
            """,
            [login.session.description, login.user.description,
             Data(try wrapping.wrap(login.password, place: place(of: login.session)))])
    }

    func deletePersonLogin(_ session: ObjectID) throws(AuthorityError) {
        try run("DELETE FROM person_logins WHERE session_id = ?", [session.description])
    }

    private func place(of session: ObjectID) -> String { "person_logins.password \(session)" }

    private func readPersonLogin(_ row: Row) throws(AuthorityError) -> PersonLogin {
        let session = try row.parsed("session_id", ObjectID.init)
        return PersonLogin(
            session: session, user: try row.parsed("user_id", UserID.init),
            password: try wrapping.unwrap(
                try row.bytes("password"), place: place(of: session)))
    }

    func append(_ entry: AuditEntry) throws(AuthorityError) {
        try run(
            """
            INSERT INTO audit (at, event, actor, installation_id, session_id, detail)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [entry.at.milliseconds, entry.event, entry.actor, entry.board?.description,
             entry.session?.description, entry.detail])
    }

    func entries(_ query: AuditQuery) throws(AuthorityError) -> [AuditEntry] {
        let limit = min(max(query.limit, 1), 1000)
        let found = if let board = query.board {
            try rows(
                "SELECT * FROM audit WHERE installation_id = ? ORDER BY number DESC LIMIT ?",
                [board.description, limit])
        } else {
            try rows("SELECT * FROM audit ORDER BY number DESC LIMIT ?", [limit])
        }
        return try map(found) { row throws(AuthorityError) in
            AuditEntry(
                at: try row.time("at"), event: try row.value("event"),
                actor: try row.value("actor"),
                board: try row.parsedOptional("installation_id", InstallationID.init),
                session: try row.parsedOptional("session_id", ObjectID.init),
                detail: try row.value("detail"))
        }
    }

    func failures(_ key: String, since: Timestamp) throws(AuthorityError) -> Int {
        try row(
            "SELECT count(*) AS n FROM failures WHERE key = ? AND at >= ?",
            [key, since.milliseconds]
        ).map { row throws(AuthorityError) in try row.value("n") } ?? 0
    }

    func countFailure(_ key: String, at now: Timestamp) throws(AuthorityError) {
        try run("INSERT INTO failures (key, at) VALUES (?, ?)", [key, now.milliseconds])
    }

    func clearFailures(_ key: String) throws(AuthorityError) {
        try run("DELETE FROM failures WHERE key = ?", [key])
    }

    func deleteFailures(before time: Timestamp) throws(AuthorityError) {
        try run("DELETE FROM failures WHERE at < ?", [time.milliseconds])
    }

    func keys() throws(AuthorityError) -> [KeyRecord] {
        try map(try rows("SELECT * FROM keys ORDER BY kind, created_at DESC")) {
            row throws(AuthorityError) in
            let kind = try row.parsed("kind", KeyRecord.Kind.init(rawValue:))
            let name: String = try row.value("name")
            return KeyRecord(
                kind: kind, name: name, publicKey: try row.bytes("public"),
                privateKey: try wrapping.unwrap(
                    try row.bytes("private"), place: "keys.private \(kind.rawValue) \(name)"),
                createdAt: try row.time("created_at"))
        }
    }

    func insert(_ key: KeyRecord) throws(AuthorityError) {
        let place = "keys.private \(key.kind.rawValue) \(key.name)"
        try run(
            "INSERT INTO keys (kind, name, public, private, created_at) VALUES (?, ?, ?, ?, ?)",
            [key.kind.rawValue, key.name, Data(key.publicKey),
             Data(try wrapping.wrap(key.privateKey, place: place)),
             key.createdAt.milliseconds])
    }
}
