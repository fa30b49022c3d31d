import AuthorityCore
import PostgreSQLClient
import Sessions
import Wire

extension StoreTransaction {
    func user(_ id: UserID) throws(AuthorityError) -> UserRecord? {
        try row("SELECT * FROM users WHERE id = ?", [id.description]).map(readUser)
    }

    func user(named name: String) throws(AuthorityError) -> UserRecord? {
        try row("SELECT * FROM users WHERE name_key = ?", [Username.key(of: name)])
            .map(readUser)
    }

    func user(email: EmailAddress) throws(AuthorityError) -> UserRecord? {
        try row("SELECT * FROM users WHERE email_key = ?", [email.key]).map(readUser)
    }

    func user(anonymousHash: [UInt8]) throws(AuthorityError) -> UserRecord? {
        try row("SELECT * FROM users WHERE anonymous_hash = ?", [anonymousHash])
            .map(readUser)
    }

    func users() throws(AuthorityError) -> [UserRecord] {
        var users: [UserRecord] = []
        var last = ""
        while true {
            let piece = try rows(
                """
                SELECT * FROM users WHERE name_key > ? ORDER BY name_key LIMIT \(Self.piece)
                """, [last])
            users += try map(piece, readUser)
            guard piece.count == Self.piece, let end = piece.last else { return users }
            last = try end.value("name_key")
        }
    }

    func users(_ slice: ListSlice) throws(AuthorityError) -> [UserRecord] {
        let found = try rows(
            """
            SELECT * FROM users ORDER BY name_key
            LIMIT \(slice.limit) OFFSET \(slice.skip)
            """)
        return try map(found, readUser)
    }

    func insert(_ user: UserRecord) throws(AuthorityError) -> Bool {
        try change(
            """
            INSERT INTO users (
                id, username, password_hash, anonymous_hash, administrator, may_claim,
                created_at, enabled, name_key, email, email_key, fields, updated_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [user.objectID.description, user.username, user.passwordHash ?? "",
             user.anonymousHash, user.isAdministrator, user.mayClaim,
             user.createdAt.milliseconds, user.isEnabled, Username.key(of: user.username),
             user.email?.description, user.email?.key, Self.fields(of: user),
             user.updatedAt.milliseconds]) == 1
    }

    func saveProfile(_ user: UserRecord) throws(AuthorityError) {
        try run(
            """
            UPDATE users SET username = ?, name_key = ?, email = ?, email_key = ?, fields = ?,
                anonymous_hash = ?, updated_at = ?
            WHERE id = ?
            """,
            [user.username, Username.key(of: user.username), user.email?.description,
             user.email?.key, Self.fields(of: user), user.anonymousHash,
             user.updatedAt.milliseconds, user.objectID.description])
    }

    private static func fields(of user: UserRecord) -> String? {
        user.fields.isEmpty ? nil : JSONValue.object(user.fields).text
    }

    func setPasswordHash(_ hash: String, of user: UserID) throws(AuthorityError) {
        try run("UPDATE users SET password_hash = ? WHERE id = ?", [hash, user.description])
    }

    func setEnabled(_ isEnabled: Bool, of user: UserID) throws(AuthorityError) {
        try run("UPDATE users SET enabled = ? WHERE id = ?", [isEnabled, user.description])
    }

    func setMayClaim(_ mayClaim: Bool, of user: UserID) throws(AuthorityError) {
        try run("UPDATE users SET may_claim = ? WHERE id = ?", [mayClaim, user.description])
    }

    private func readUser(_ row: SQLRow) throws(AuthorityError) -> UserRecord {
        try readUser(row, id: "id", since: "created_at")
    }

    /// Reads a user from a row that may be joined, so that two columns have other names.
    func readUser(
        _ row: SQLRow, id: String, since: String
    ) throws(AuthorityError) -> UserRecord {
        // The column cannot be NULL, so an empty hash means that the user has no password.
        let hash: String = try row.value("password_hash")
        return UserRecord(
            objectID: try row.parsed(id, UserID.init), username: try row.value("username"),
            passwordHash: hash.isEmpty ? nil : hash,
            anonymousHash: try row.optionalBytes("anonymous_hash"),
            isAdministrator: try row.value("administrator"),
            mayClaim: try row.value("may_claim"), createdAt: try row.time(since),
            updatedAt: try row.time("updated_at"), isEnabled: try row.value("enabled"),
            email: try row.parsedOptional("email", EmailAddress.init),
            fields: try members(row, "fields"))
    }
}
