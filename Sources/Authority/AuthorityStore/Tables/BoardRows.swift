import AuthorityCore
import PostgreSQLClient
import Sessions
import Wire

extension StoreTransaction {
    func board(_ id: InstallationID) throws(AuthorityError) -> BoardRecord? {
        try row("SELECT * FROM boards WHERE id = ?", [id.description]).map(readBoard)
    }

    func deviceKeys(of board: InstallationID) throws(AuthorityError) -> [[UInt8]] {
        try map(
            try rows(
                """
                SELECT device_key FROM boards WHERE id = ?1
                UNION ALL SELECT device_key FROM claims
                    WHERE installation_id = ?1 AND state = 'sent'
                """, [board.description])
        ) { row throws(AuthorityError) in try row.bytes("device_key") }
    }

    func boards(
        of owner: UserID?, after last: BoardRecord?, limit: Int
    ) throws(AuthorityError) -> [BoardRecord] {
        let rest = "NOT released AND (name, id) > (?, ?) ORDER BY name, id LIMIT ?"
        let (name, id) = (last?.name ?? "", last?.installation.description ?? "")
        let found = if let owner {
            try rows(
                "SELECT * FROM boards WHERE owner = ? AND \(rest)",
                [owner.description, name, id, limit])
        } else {
            try rows("SELECT * FROM boards WHERE \(rest)", [name, id, limit])
        }
        return try map(found, readBoard)
    }

    func boardsInSession(atMost limit: Int) throws(AuthorityError) -> Int {
        let found: Int64? = try row(
            """
            SELECT count(*) AS number FROM (
                SELECT 1 FROM sessions WHERE state = 'active'
                AND installation_id IS NOT NULL AND device_key IS NOT NULL LIMIT ?
            ) AS found
            """, [limit]
        ).map { row throws(AuthorityError) in try row.value("number") }
        return Int(clamping: found ?? 0)
    }

    func save(_ board: BoardRecord) throws(AuthorityError) {
        try run(
            """
            INSERT INTO boards (id, name, device_key, owner, released, last_seen, owned_since,
                name_key, labels)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                name = excluded.name, device_key = excluded.device_key, owner = excluded.owner,
                released = excluded.released, last_seen = excluded.last_seen,
                owned_since = excluded.owned_since, name_key = excluded.name_key,
                labels = excluded.labels
            """,
            [board.installation.description, board.name, board.deviceKey,
             board.owner.description, board.released, board.lastSeen?.milliseconds,
             board.ownedSince.milliseconds, board.nameKey, Self.text(of: board.labels)])
    }

    func setStatus(
        _ status: BoardStatus, of board: InstallationID
    ) throws(AuthorityError) {
        try run(
            """
            INSERT INTO statuses (installation_id, status) VALUES (?, ?)
            ON CONFLICT (installation_id) DO UPDATE SET status = excluded.status
            """,
            [board.description, String(decoding: status.payload, as: UTF8.self)])
    }

    func status(of board: InstallationID) throws(AuthorityError) -> BoardStatus? {
        let row = try row(
            "SELECT status FROM statuses WHERE installation_id = ?", [board.description])
        guard let row else { return nil }
        let text: String = try row.value("status")
        do throws(WireError) { return try BoardStatus(parsing: Array(text.utf8)) } catch {
            throw damaged("status")
        }
    }

    func brokerPassword(of board: InstallationID) throws(AuthorityError) -> SecretBytes? {
        try row(
            "SELECT password FROM broker_logins WHERE installation_id = ?", [board.description]
        ).map { row throws(AuthorityError) in
            try wrapping.unwrap(try row.bytes("password"), place: place(of: board))
        }
    }

    func setBrokerPassword(
        _ password: SecretBytes?, of board: InstallationID
    ) throws(AuthorityError) {
        guard let password else {
            try run(
                "DELETE FROM broker_logins WHERE installation_id = ?", [board.description])
            return
        }
        try run(
            """
            INSERT INTO broker_logins (installation_id, password) VALUES (?, ?)
            ON CONFLICT (installation_id) DO UPDATE SET password = excluded.password
            """,
            [board.description, try wrapping.wrap(password, place: place(of: board))])
    }

    func boardsWithLogin() throws(AuthorityError) -> [InstallationID] {
        try every("installation_id", in: "broker_logins", InstallationID.init)
    }

    func nextSequence(
        sealKey: KeyID, board: InstallationID, at now: Timestamp
    ) throws(AuthorityError) -> Int64 {
        let found = try row(
            """
            INSERT INTO sequences (seal_key, installation_id, last) VALUES (?1, ?2, ?3)
            ON CONFLICT (seal_key, installation_id) DO UPDATE SET last =
                CASE WHEN sequences.last < ?3 THEN ?3 ELSE sequences.last + 1 END
            RETURNING last
            """, [sealKey.description, board.description, now.milliseconds])
        guard let found else { throw damaged("last") }
        return try found.value("last")
    }

    private func place(of board: InstallationID) -> String {
        "broker_logins.password \(board)"
    }

    func owners(
        of origins: [RecordOrigin]
    ) throws(AuthorityError) -> [RecordOrigin: RecordOwners] {
        let queries = origins.map { origin in
            query(
                """
                SELECT owner, released, owned_since, user_id, ended_at,
                    sessions.created_at AS session_since
                FROM boards LEFT JOIN sessions
                    ON sessions.id = ? AND sessions.installation_id = boards.id
                    AND sessions.device_key IS NOT NULL
                WHERE boards.id = ?
                """, [origin.session.description, origin.board.description])
        }
        // The answers of one round trip wait in buffers of the connection, which have a limit.
        var found: [[SQLRow]] = []
        for start in stride(from: 0, to: queries.count, by: Self.queriesOfTrip) {
            let end = min(start + Self.queriesOfTrip, queries.count)
            found += try runner.rows(before: Array(queries[start..<end]), []).before
        }
        var owners: [RecordOrigin: RecordOwners] = [:]
        for (origin, rows) in zip(origins, found) {
            guard let row = rows.first else { continue }
            let isReleased: Bool = try row.value("released")
            var session: RecordSession?
            if let user = try row.parsedOptional("user_id", UserID.init) {
                session = RecordSession(
                    user: user, createdAt: try row.time("session_since"),
                    endedAt: try row.optionalTime("ended_at"))
            }
            owners[origin] = RecordOwners(
                present: isReleased ? nil : try row.parsed("owner", UserID.init),
                ownedSince: try row.time("owned_since"), session: session)
        }
        return owners
    }

    private static var queriesOfTrip: Int { 128 }

    func readBoard(_ row: SQLRow) throws(AuthorityError) -> BoardRecord {
        BoardRecord(
            installation: try row.parsed("id", InstallationID.init),
            name: try row.value("name"), deviceKey: try row.bytes("device_key"),
            owner: try row.parsed("owner", UserID.init), released: try row.value("released"),
            lastSeen: try row.optionalTime("last_seen"), ownedSince: try row.time("owned_since"),
            labels: try labels(in: row))
    }
}
