import AuthorityCore
import PostgreSQLClient
import Sessions
import Wire

/// Boards that wait until a person types their code.
extension StoreTransaction {
    /// Longer than a code lives. What ends later was stored while the clock was far ahead.
    private static let countedAhead = Duration.seconds(3600)

    func claimCode(deviceHash: [UInt8]) throws(AuthorityError) -> ClaimCodeRecord? {
        try row("SELECT * FROM claim_codes WHERE device_hash = ?", [deviceHash])
            .map(readClaimCode)
    }

    func claimCode(userHash: [UInt8]) throws(AuthorityError) -> ClaimCodeRecord? {
        try row("SELECT * FROM claim_codes WHERE user_hash = ?", [userHash])
            .map(readClaimCode)
    }

    func claimCodeEnd(
        in scope: RequestScope, skipping skipped: Int, after now: Timestamp
    ) throws(AuthorityError) -> Timestamp? {
        try requestEnd(
            "claim_codes", in: scope, skipping: skipped, after: now,
            atMost: now + Self.countedAhead, narrowing: "state <> 'claimed'")
    }

    func insert(_ code: ClaimCodeRecord) throws(AuthorityError) -> Bool {
        let address = CountedOrigin(code.origin)
        return try change(
            """
            INSERT INTO claim_codes (
                device_hash, user_hash, installation_id, device_key, board_name, origin, address,
                network, created_at, ends_at, state)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [code.deviceHash, code.userHash, code.installation.description, code.deviceKey,
             code.boardName, code.origin, address.description, RequestScope.network(of: address),
             code.createdAt.milliseconds, code.endsAt.milliseconds, code.state.rawValue]) == 1
    }

    func update(_ code: ClaimCodeRecord) throws(AuthorityError) {
        try run(
            """
            UPDATE claim_codes SET state = ?, user_id = ?, session_id = ?, duration = ?, scope = ?,
                custom = ?, claim_id = ? WHERE device_hash = ?
            """,
            [code.state.rawValue, code.user?.description, code.session?.description,
             code.duration?.components.seconds, code.scope?.text,
             code.custom.isEmpty ? nil : JSONValue.object(code.custom).text,
             code.claim?.description, code.deviceHash])
    }

    func deleteClaimCodes(
        endedBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM claim_codes WHERE device_hash IN (
                SELECT device_hash FROM claim_codes WHERE ends_at < ?1 OR ends_at > ?2 LIMIT ?3)
            """,
            [time.milliseconds, (time + Self.countedAhead).milliseconds, Int64(limit)])
    }

    private func readClaimCode(_ row: SQLRow) throws(AuthorityError) -> ClaimCodeRecord {
        var code = ClaimCodeRecord(
            deviceHash: try row.bytes("device_hash"), userHash: try row.bytes("user_hash"),
            installation: try row.parsed("installation_id", InstallationID.init),
            deviceKey: try row.bytes("device_key"), boardName: try row.value("board_name"),
            origin: try row.value("origin"), createdAt: try row.time("created_at"),
            endsAt: try row.time("ends_at"))
        code.state = try row.parsed("state", ClaimCodeRecord.State.init(rawValue:))
        code.user = try row.parsedOptional("user_id", UserID.init)
        code.session = try row.parsedOptional("session_id", ObjectID.init)
        code.duration = try row.optional("duration", as: Int64.self).map(Duration.seconds)
        code.scope = try row.optional("scope").map(ScopeText.init)
        code.custom = try members(row, "custom")
        code.claim = try row.parsedOptional("claim_id", MessageID.init)
        return code
    }
}
