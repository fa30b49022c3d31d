import AuthorityCore
import GRDB
import Sessions

extension SQLiteTransaction {
    func user(_ id: UserID) throws(AuthorityError) -> UserRecord? {
        try row("SELECT * FROM users WHERE id = ?", [id.description]).map(readUser)
    }

    func user(named name: String) throws(AuthorityError) -> UserRecord? {
        try row("SELECT * FROM users WHERE username = ?", [name]).map(readUser)
    }

    func users() throws(AuthorityError) -> [UserRecord] {
        try map(try rows("SELECT * FROM users ORDER BY username"), readUser)
    }

    func insert(_ user: UserRecord) throws(AuthorityError) -> Bool {
        try run(
            """
            INSERT INTO users (id, username, password_hash, administrator, may_claim, created_at)
            VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (username) DO NOTHING
            """,
            [user.objectID.description, user.username, user.passwordHash, user.isAdministrator,
             user.mayClaim, user.createdAt.milliseconds]) == 1
    }

    func setPasswordHash(_ hash: String, of user: UserID) throws(AuthorityError) {
        try run("UPDATE users SET password_hash = ? WHERE id = ?", [hash, user.description])
    }

    private func readUser(_ row: Row) throws(AuthorityError) -> UserRecord {
        UserRecord(
            objectID: try row.parsed("id", UserID.init), username: try row.value("username"),
            passwordHash: try row.value("password_hash"),
            isAdministrator: try row.value("administrator"),
            mayClaim: try row.value("may_claim"), createdAt: try row.time("created_at"))
    }
}
