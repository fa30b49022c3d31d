import AuthorityCore
import PostgreSQLClient
import Sessions

/// Accounts of users at other providers, and the proofs that were used.
extension StoreTransaction {
    func identity(
        _ provider: LoginProvider, issuer: String, subject: String
    ) throws(AuthorityError) -> IdentityRecord? {
        try row(
            "SELECT * FROM identities WHERE provider = ? AND issuer = ? AND subject = ?",
            [provider.description, issuer, subject]
        ).map(readIdentity)
    }

    func identities(of user: UserID) throws(AuthorityError) -> [IdentityRecord] {
        try map(
            try rows(
                "SELECT * FROM identities WHERE user_id = ? ORDER BY provider",
                [user.description]),
            readIdentity)
    }

    func insert(_ identity: IdentityRecord) throws(AuthorityError) -> Bool {
        try change(
            """
            INSERT INTO identities (provider, issuer, subject, user_id, created_at)
            VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [identity.provider.description, identity.issuer, identity.subject,
             identity.user.description, identity.createdAt.milliseconds]) == 1
    }

    func deleteIdentity(
        _ provider: LoginProvider, of user: UserID
    ) throws(AuthorityError) -> Bool {
        try change(
            "DELETE FROM identities WHERE user_id = ? AND provider = ?",
            [user.description, provider.description]) == 1
    }

    func spend(hash: [UInt8], until end: Timestamp) throws(AuthorityError) -> Bool {
        try change(
            """
            INSERT INTO spent_proofs (hash, ends_at) VALUES (?, ?) ON CONFLICT DO NOTHING
            """, [hash, end.milliseconds]) == 1
    }

    func deleteSpentProofs(
        endedBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM spent_proofs WHERE hash IN (
                SELECT hash FROM spent_proofs WHERE ends_at < ? ORDER BY ends_at LIMIT ?)
            """, [time.milliseconds, limit])
    }

    private func readIdentity(_ row: SQLRow) throws(AuthorityError) -> IdentityRecord {
        IdentityRecord(
            provider: try row.parsed("provider", LoginProvider.init),
            issuer: try row.value("issuer"), subject: try row.value("subject"),
            user: try row.parsed("user_id", UserID.init), createdAt: try row.time("created_at"))
    }
}
