import AuthorityCore
import PostgreSQLClient
import Sessions

/// Users' passkeys and recovery codes.
extension StoreTransaction {
    func passkey(credential: [UInt8]) throws(AuthorityError) -> PasskeyRecord? {
        try row("SELECT * FROM passkeys WHERE credential = ?", [credential]).map(readPasskey)
    }

    func passkeys(of user: UserID) throws(AuthorityError) -> [PasskeyRecord] {
        try map(
            try rows(
                "SELECT * FROM passkeys WHERE user_id = ? ORDER BY created_at, id",
                [user.description]),
            readPasskey)
    }

    func insert(_ passkey: PasskeyRecord) throws(AuthorityError) -> Bool {
        try change(
            """
            INSERT INTO passkeys (
                id, credential, user_id, site, name, cose_key, counter, created_at, last_used_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [passkey.id.description, passkey.credential, passkey.user.description, passkey.site,
             passkey.name, passkey.coseKey, Int64(passkey.counter),
             passkey.createdAt.milliseconds, passkey.lastUsedAt?.milliseconds]) == 1
    }

    func update(_ passkey: PasskeyRecord) throws(AuthorityError) {
        try run(
            "UPDATE passkeys SET name = ?, counter = ?, last_used_at = ? WHERE id = ?",
            [passkey.name, Int64(passkey.counter), passkey.lastUsedAt?.milliseconds,
             passkey.id.description])
    }

    func deletePasskey(_ id: ObjectID) throws(AuthorityError) {
        try run("DELETE FROM passkeys WHERE id = ?", [id.description])
    }

    private func readPasskey(_ row: SQLRow) throws(AuthorityError) -> PasskeyRecord {
        guard let counter = UInt32(exactly: try row.value("counter") as Int64) else {
            throw damaged("counter")
        }
        return PasskeyRecord(
            id: try row.parsed("id", ObjectID.init), credential: try row.bytes("credential"),
            user: try row.parsed("user_id", UserID.init), site: try row.value("site"),
            name: try row.value("name"),
            coseKey: try row.bytes("cose_key"), counter: counter,
            createdAt: try row.time("created_at"),
            lastUsedAt: try row.optionalTime("last_used_at"))
    }

    func recoveryCode(of user: UserID) throws(AuthorityError) -> RecoveryCodeRecord? {
        try row("SELECT * FROM recovery_codes WHERE user_id = ?", [user.description])
            .map(readRecoveryCode)
    }

    func recoveryCode(hash: [UInt8]) throws(AuthorityError) -> RecoveryCodeRecord? {
        try row("SELECT * FROM recovery_codes WHERE hash = ?", [hash]).map(readRecoveryCode)
    }

    func save(_ code: RecoveryCodeRecord) throws(AuthorityError) {
        try run(
            """
            INSERT INTO recovery_codes (user_id, hash, created_at) VALUES (?, ?, ?)
            ON CONFLICT (user_id) DO UPDATE SET
                hash = excluded.hash, created_at = excluded.created_at
            """, [code.user.description, code.hash, code.createdAt.milliseconds])
    }

    func deleteRecoveryCode(of user: UserID) throws(AuthorityError) -> Bool {
        try change("DELETE FROM recovery_codes WHERE user_id = ?", [user.description]) == 1
    }

    private func readRecoveryCode(_ row: SQLRow) throws(AuthorityError) -> RecoveryCodeRecord {
        RecoveryCodeRecord(
            user: try row.parsed("user_id", UserID.init), hash: try row.bytes("hash"),
            createdAt: try row.time("created_at"))
    }
}
