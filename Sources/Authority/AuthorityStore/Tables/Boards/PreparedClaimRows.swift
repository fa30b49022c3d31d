import AuthorityCore
import PostgreSQLClient
import Sessions

/// Prepared claims.
extension StoreTransaction {
    func preparedClaim(_ id: InstallationID) throws(AuthorityError) -> PreparedClaimRecord? {
        try row("SELECT * FROM prepared_claims WHERE id = ?", [id.description]).map(readPrepared)
    }

    func preparedClaim(
        claimedBy claim: MessageID
    ) throws(AuthorityError) -> PreparedClaimRecord? {
        try row("SELECT * FROM prepared_claims WHERE claim_id = ?", [claim.description])
            .map(readPrepared)
    }

    func preparedClaims(
        of owner: UserID?, limit: Int
    ) throws(AuthorityError) -> [PreparedClaimRecord] {
        let order = """
            ORDER BY CASE WHEN psk IS NULL THEN 2 WHEN state = 'asking' THEN 0 ELSE 1 END,
            created_at DESC, name, id
            """
        let found = if let owner {
            try rows(
                """
                SELECT * FROM prepared_claims WHERE owner_id = ? AND state <> 'ended'
                \(order) LIMIT ?
                """, [owner.description, limit])
        } else {
            try rows(
                """
                SELECT * FROM (
                    SELECT * FROM (
                        SELECT prepared_claims.*,
                            row_number() OVER (PARTITION BY owner_id \(order)) AS place
                        FROM prepared_claims WHERE state <> 'ended'
                    ) AS numbered
                    ORDER BY place, created_at DESC, id LIMIT ?
                ) AS fair \(order)
                """, [limit])
        }
        return try map(found, readPrepared)
    }

    func openPreparedClaims(of owner: UserID) throws(AuthorityError) -> [PreparedClaimRecord] {
        try map(
            try rows(
                "SELECT * FROM prepared_claims WHERE owner_id = ? AND psk IS NOT NULL",
                [owner.description]),
            readPrepared)
    }

    func preparedClaimCounts(
        of owner: UserID
    ) throws(AuthorityError) -> (open: Int, all: Int) {
        let row = try row(
            """
            SELECT count(psk) AS with_keys, count(*) AS number FROM prepared_claims
            WHERE owner_id = ?
            """, [owner.description])
        return (try row?.value("with_keys") ?? 0, try row?.value("number") ?? 0)
    }

    func preparedClaimsWithLogin() throws(AuthorityError) -> [InstallationID] {
        try map(try rows("SELECT id FROM prepared_claims WHERE psk IS NOT NULL ORDER BY id")) {
            row throws(AuthorityError) in try row.parsed("id", InstallationID.init)
        }
    }

    func preparedClaims(
        expiredBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> [PreparedClaimRecord] {
        try map(
            try rows(
                """
                SELECT * FROM prepared_claims WHERE psk IS NOT NULL AND expires_at <= ?
                ORDER BY expires_at LIMIT ?
                """, [time.milliseconds, limit]),
            readPrepared)
    }

    func preparedClaimsUsedTwice(
        limit: Int
    ) throws(AuthorityError) -> [PreparedClaimRecord] {
        try map(
            try rows(
                """
                SELECT * FROM (
                    SELECT prepared_claims.*,
                        row_number() OVER (PARTITION BY owner_id ORDER BY second_at, id) AS place
                    FROM prepared_claims WHERE second_at IS NOT NULL AND state <> 'ended'
                ) AS numbered
                ORDER BY place, second_at, id LIMIT ?
                """, [limit]),
            readPrepared)
    }

    func save(_ prepared: PreparedClaimRecord) throws(AuthorityError) {
        noteNews()
        let (board, terms) = (prepared.board, prepared.terms)
        try run(
            """
            INSERT INTO prepared_claims (
                id, owner_id, state, name, labels, scope, duration, action, provider,
                accepts_at_once, created_at, expires_at, ended_at, psk, password,
                installation_id, device_key, board_name, asked_at, claim_secret, former_secrets,
                renewed_at, claim_id, second_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                state = excluded.state, accepts_at_once = excluded.accepts_at_once,
                ended_at = excluded.ended_at, psk = excluded.psk, password = excluded.password,
                installation_id = excluded.installation_id, device_key = excluded.device_key,
                board_name = excluded.board_name, asked_at = excluded.asked_at,
                claim_secret = excluded.claim_secret, former_secrets = excluded.former_secrets,
                renewed_at = excluded.renewed_at,
                claim_id = excluded.claim_id, second_at = excluded.second_at
            """,
            [prepared.id.description, prepared.owner.description, prepared.state.rawValue,
             prepared.name, Self.text(of: terms.labels), terms.scope?.text,
             terms.duration.map { Int64($0.components.seconds) }, terms.asking.action,
             terms.asking.authProvider, prepared.acceptsAtOnce,
             prepared.createdAt.milliseconds, prepared.expiresAt.milliseconds,
             prepared.endedAt?.milliseconds, try wrapped(prepared.keys?.psk, "psk", prepared.id),
             try wrapped(prepared.keys?.brokerPassword, "password", prepared.id),
             board?.installation.description, board?.deviceKey, board?.name,
             board?.askedAt.milliseconds, try wrapped(board?.secret, "claim_secret", prepared.id),
             board?.formerSecrets, board?.renewedAt?.milliseconds, prepared.claim?.description,
             prepared.secondAt?.milliseconds])
    }

    func deletePreparedClaims(
        endedBefore time: Timestamp, unusedBefore unused: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM prepared_claims WHERE id IN (
                SELECT id FROM prepared_claims
                WHERE ended_at < ? OR (ended_at < ? AND installation_id IS NULL)
                ORDER BY ended_at LIMIT ?)
            """, [time.milliseconds, unused.milliseconds, limit])
    }

    private func wrapped(
        _ secret: SecretBytes?, _ column: String, _ id: InstallationID
    ) throws(AuthorityError) -> [UInt8]? {
        try secret.map { secret throws(AuthorityError) in
            try wrapping.wrap(secret, place: "prepared_claims.\(column) \(id)")
        }
    }

    private func secret(
        _ column: String, _ id: InstallationID, _ row: SQLRow
    ) throws(AuthorityError) -> SecretBytes? {
        try row.optionalBytes(column).map { bytes throws(AuthorityError) in
            try wrapping.unwrap(bytes, place: "prepared_claims.\(column) \(id)")
        }
    }

    private func readPrepared(_ row: SQLRow) throws(AuthorityError) -> PreparedClaimRecord {
        let id = try row.parsed("id", InstallationID.init)
        let duration = try row.optional("duration", as: Int64.self)
        var keys: ClaimKeys?
        if let psk = try secret("psk", id, row) {
            guard let password = try secret("password", id, row) else { throw damaged("password") }
            keys = ClaimKeys(brokerPassword: password, psk: psk)
        }
        return PreparedClaimRecord(
            id: id, owner: try row.parsed("owner_id", UserID.init),
            name: try row.value("name"),
            terms: PreparedClaimRecord.Terms(
                labels: try labels(in: row),
                scope: try row.optional("scope").map(ScopeText.init),
                duration: duration.map { .seconds($0) },
                asking: CreatedWith(
                    action: try row.value("action"), authProvider: try row.value("provider"))),
            createdAt: try row.time("created_at"), expiresAt: try row.time("expires_at"),
            keys: keys,
            state: try row.parsed("state", PreparedClaimRecord.State.init(rawValue:)),
            acceptsAtOnce: try row.value("accepts_at_once"), board: try readBoard(id, row),
            claim: try row.parsedOptional("claim_id", MessageID.init),
            secondAt: try row.optionalTime("second_at"), endedAt: try row.optionalTime("ended_at"))
    }

    private func readBoard(
        _ id: InstallationID, _ row: SQLRow
    ) throws(AuthorityError) -> PreparedClaimRecord.Board? {
        guard let board = try row.parsedOptional("installation_id", InstallationID.init) else {
            return nil
        }
        return PreparedClaimRecord.Board(
            installation: board, deviceKey: try row.bytes("device_key"),
            name: try row.value("board_name"), secret: try secret("claim_secret", id, row),
            formerSecrets: try row.bytes("former_secrets"), askedAt: try row.time("asked_at"),
            renewedAt: try row.optionalTime("renewed_at"))
    }
}
