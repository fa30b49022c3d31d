import AuthorityCore
import Foundation
import GRDB
import Sessions

/// The authority's keys.
extension SQLiteTransaction {
    func keys() throws(AuthorityError) -> [KeyRecord] {
        // Not by the time they were made: a clock may have been wrong.
        try map(
            try rows(
                """
                SELECT * FROM keys
                ORDER BY kind, retired_at IS NOT NULL, retired_at DESC, created_at DESC
                """),
            readKey)
    }

    func insert(_ key: KeyRecord) throws(AuthorityError) {
        let wrapped = try wrapping.wrap(key.privateKey, place: place(of: key.kind, key.name))
        try run(
            """
            INSERT INTO keys (kind, name, public, private, created_at, retired_at)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [key.kind.rawValue, key.name, Data(key.publicKey), Data(wrapped),
             key.createdAt.milliseconds, key.retiredAt?.milliseconds])
    }

    func retireSigningKey(at time: Timestamp, keeping count: Int) throws(AuthorityError) {
        try run(
            """
            UPDATE keys SET retired_at = ?, private = x''
            WHERE kind = 'signing' AND retired_at IS NULL
            """, [time.milliseconds])
        try run(
            """
            DELETE FROM keys WHERE kind = 'signing' AND name IN (
                SELECT name FROM keys WHERE kind = 'signing' AND retired_at IS NOT NULL
                ORDER BY retired_at DESC LIMIT -1 OFFSET ?
            )
            """, [max(count, 0)])
    }

    private func readKey(_ row: Row) throws(AuthorityError) -> KeyRecord {
        let kind = try row.parsed("kind", KeyRecord.Kind.init(rawValue:))
        let name: String = try row.value("name")
        let retired = try row.optionalTime("retired_at")
        let wrapped = try row.bytes("private")
        let secret = if retired != nil, wrapped.isEmpty {
            SecretBytes([])
        } else {
            try wrapping.unwrap(wrapped, place: place(of: kind, name))
        }
        return KeyRecord(
            kind: kind, name: name, publicKey: try row.bytes("public"), privateKey: secret,
            createdAt: try row.time("created_at"), retiredAt: retired)
    }

    private func place(of kind: KeyRecord.Kind, _ name: String) -> String {
        "keys.private \(kind.rawValue) \(name)"
    }
}

extension Schema {
    /// Of the keys of a kind one is in use; of those that sign, the database sees to it. `times`
    /// has the latest time that a service of this database believed, once there was one.
    static let rotation = """
        ALTER TABLE keys ADD COLUMN retired_at INTEGER;
        CREATE UNIQUE INDEX key_that_signs ON keys (kind)
            WHERE kind = 'signing' AND retired_at IS NULL;
        CREATE TABLE times (
            name TEXT PRIMARY KEY,
            at INTEGER NOT NULL
        ) STRICT;
        """
}
