import AuthorityCore
import PostgreSQLClient
import Sessions

/// The authority's keys.
extension StoreTransaction {
    func keys() throws(AuthorityError) -> [KeyRecord] {
        // Do not sort by creation time first: the clock may have been wrong.
        try map(
            try rows(
                """
                SELECT * FROM keys
                ORDER BY kind, retired_at IS NOT NULL, retired_at DESC, created_at DESC
                """), readKey)
    }

    func insert(_ key: KeyRecord) throws(AuthorityError) {
        noteNews()
        let wrapped = try wrapping.wrap(key.privateKey, place: place(of: key.kind, key.name))
        try run(
            """
            INSERT INTO keys (kind, name, public, private, created_at, retired_at)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [key.kind.rawValue, key.name, key.publicKey, wrapped,
             key.createdAt.milliseconds, key.retiredAt?.milliseconds])
    }

    func retireSigningKey(at time: Timestamp, keeping count: Int) throws(AuthorityError) {
        noteNews()
        let retiring = try rows(
            "SELECT name, public FROM keys WHERE kind = 'signing' AND retired_at IS NULL")
        for row in retiring {
            let name: String = try row.value("name")
            let proof = try wrapping.wrap(
                SecretBytes([]),
                place: Self.place(ofRetired: name, try row.bytes("public"), time))
            try run(
                """
                UPDATE keys SET retired_at = ?, private = ?
                WHERE kind = 'signing' AND retired_at IS NULL AND name = ?
                """, [time.milliseconds, proof, name])
        }
        try run(
            """
            DELETE FROM keys WHERE kind = 'signing' AND name IN (
                SELECT name FROM keys WHERE kind = 'signing' AND retired_at IS NOT NULL
                ORDER BY retired_at DESC LIMIT \(dialect.unlimited) OFFSET ?
            )
            """, [max(count, 0)])
    }

    /// A retired key without the proof that it was ours is damaged. Otherwise a person who can
    /// write to the tables, but has no master key, could make boards trust their own key.
    private func readKey(_ row: SQLRow) throws(AuthorityError) -> KeyRecord {
        let kind = try row.parsed("kind", KeyRecord.Kind.init(rawValue:))
        let name: String = try row.value("name")
        let publicKey = try row.bytes("public")
        let retired = try row.optionalTime("retired_at")
        let wrapped = try row.bytes("private")
        let secret: SecretBytes
        if let retired {
            let place = Self.place(ofRetired: name, publicKey, retired)
            do throws(AuthorityError) {
                secret = try wrapping.unwrap(wrapped, place: place)
            } catch {
                throw damaged("private")
            }
        } else {
            secret = try wrapping.unwrap(wrapped, place: place(of: kind, name))
        }
        let key = KeyRecord(
            kind: kind, name: name, publicKey: publicKey, privateKey: secret,
            createdAt: try row.time("created_at"), retiredAt: retired)
        // The public half is not wrapped, and boards learn to trust it, so check it.
        guard retired != nil || wrapping.isWhole(key) else { throw damaged("public") }
        return key
    }

    /// The wrapping place of the empty secret that a retired signing key keeps.
    private static func place(
        ofRetired name: String, _ publicKey: [UInt8], _ time: Timestamp
    ) -> String {
        let key = publicKey.map { String($0) }.joined(separator: ".")
        return "keys.retired signing \(name) \(key) \(time.milliseconds)"
    }

    private func place(of kind: KeyRecord.Kind, _ name: String) -> String {
        "keys.private \(kind.rawValue) \(name)"
    }
}
