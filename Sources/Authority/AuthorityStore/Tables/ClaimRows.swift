import AuthorityCore
import PostgreSQLClient
import Sessions

extension StoreTransaction {
    func claim(_ id: MessageID) throws(AuthorityError) -> ClaimRecord? {
        try row("SELECT * FROM claims WHERE id = ?", [id.description]).map(readClaim)
    }

    func openClaim(on board: InstallationID) throws(AuthorityError) -> ClaimRecord? {
        try row(
            "SELECT * FROM claims WHERE installation_id = ? AND state = 'sent'",
            [board.description]
        ).map(readClaim)
    }

    func claim(ofSession session: ObjectID) throws(AuthorityError) -> ClaimRecord? {
        try row(
            "SELECT * FROM claims WHERE session_id = ? ORDER BY created_at DESC LIMIT 1",
            [session.description]
        ).map(readClaim)
    }

    func insert(_ claim: ClaimRecord) throws(AuthorityError) -> Bool {
        try change(
            """
            INSERT INTO claims (
                id, installation_id, session_id, claimant, state, created_at, expires_at,
                secret_hash, board_name, device_key, payload, broker_password, former_password,
                reason_code, reason_text, token_origin, renews)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (installation_id) WHERE state = 'sent' DO NOTHING
            """,
            [claim.id.description, claim.installation.description, claim.session.description,
             claim.claimant.description, claim.state.rawValue, claim.createdAt.milliseconds,
             claim.expiresAt.milliseconds, claim.secretHash, claim.boardName,
             claim.deviceKey, claim.payload,
             try wrapped(claim.brokerPassword, of: claim.id),
             try wrapped(claim.formerPassword, of: claim.id), claim.reason?.code,
             claim.reason?.text, claim.tokenOrigin.rawValue, claim.renews?.description]) == 1
    }

    func update(_ claim: ClaimRecord) throws(AuthorityError) {
        try run(
            """
            UPDATE claims SET state = ?, payload = ?, broker_password = ?, former_password = ?,
                reason_code = ?, reason_text = ? WHERE id = ?
            """,
            [claim.state.rawValue, claim.payload,
             try wrapped(claim.brokerPassword, of: claim.id),
             try wrapped(claim.formerPassword, of: claim.id), claim.reason?.code,
             claim.reason?.text, claim.id.description])
    }

    func isUsed(secretHash: [UInt8]) throws(AuthorityError) -> Bool {
        try row(
            """
            SELECT 1 FROM claims WHERE secret_hash = ?1 AND state = 'accepted'
            UNION ALL SELECT 1 FROM spent_secrets WHERE secret_hash = ?1
            """, [secretHash]) != nil
    }

    func openClaims(
        expiredBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> [ClaimRecord] {
        try map(
            try rows(
                "SELECT * FROM claims WHERE state = 'sent' AND expires_at < ? LIMIT ?",
                [time.milliseconds, limit]),
            readClaim)
    }

    func openClaims(
        of user: UserID?, at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> [ClaimRecord] {
        let open = "SELECT * FROM claims WHERE state = 'sent' AND expires_at > ?1"
        let order = "ORDER BY created_at DESC, id LIMIT ?2"
        let found = if let user {
            try rows(
                """
                \(open) AND (claimant = ?3 OR installation_id IN (
                    SELECT id FROM boards WHERE owner = ?3 AND NOT released)) \(order)
                """, [now.milliseconds, limit, user.description])
        } else {
            try rows("\(open) \(order)", [now.milliseconds, limit])
        }
        return try map(found, readClaim)
    }

    func boardsWithInbox(
        at now: Timestamp, endedAfter ended: Timestamp, after last: InstallationID?, limit: Int
    ) throws(AuthorityError) -> [InstallationID] {
        let found = try rows(
            """
            SELECT installation_id FROM (
                SELECT installation_id FROM claims WHERE expires_at > ?1
                UNION SELECT installation_id FROM sessions WHERE end_notice_until IS NOT NULL
                UNION SELECT installation_id FROM sessions WHERE scope_notice_id IS NOT NULL
                UNION SELECT installation_id FROM sessions
                    WHERE state = 'ended' AND ended_at > ?2 AND device_key IS NOT NULL
            ) AS inboxes
            WHERE installation_id > ?3 ORDER BY installation_id LIMIT ?4
            """,
            [now.milliseconds, ended.milliseconds, last?.description ?? "", limit])
        return try map(found) { row throws(AuthorityError) in
            try row.parsed("installation_id", InstallationID.init)
        }
    }

    private func wrapped(
        _ password: SecretBytes?, of claim: MessageID
    ) throws(AuthorityError) -> [UInt8]? {
        try password.map { password throws(AuthorityError) in
            try wrapping.wrap(password, place: place(of: claim))
        }
    }

    private func password(
        _ column: String, of claim: MessageID, _ row: SQLRow
    ) throws(AuthorityError) -> SecretBytes? {
        try row.optionalBytes(column).map { bytes throws(AuthorityError) in
            try wrapping.unwrap(bytes, place: place(of: claim))
        }
    }

    private func place(of claim: MessageID) -> String { "claims.broker_password \(claim)" }

    private func readClaim(_ row: SQLRow) throws(AuthorityError) -> ClaimRecord {
        let id = try row.parsed("id", MessageID.init)
        let code = try row.optional("reason_code", as: Int.self)
        let text = try row.optional("reason_text", as: String.self)
        return ClaimRecord(
            id: id, installation: try row.parsed("installation_id", InstallationID.init),
            session: try row.parsed("session_id", ObjectID.init),
            claimant: try row.parsed("claimant", UserID.init),
            state: try row.parsed("state", Claim.State.init(rawValue:)),
            createdAt: try row.time("created_at"), expiresAt: try row.time("expires_at"),
            secretHash: try row.bytes("secret_hash"), boardName: try row.value("board_name"),
            deviceKey: try row.bytes("device_key"), payload: try row.optionalBytes("payload"),
            brokerPassword: try password("broker_password", of: id, row),
            formerPassword: try password("former_password", of: id, row),
            reason: code.map { Refusal(code: $0, text: text ?? "") },
            tokenOrigin: try row.parsed("token_origin", TokenOrigin.init(rawValue:)),
            renews: try row.parsedOptional("renews", ObjectID.init))
    }
}
