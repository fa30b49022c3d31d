import AuthorityCore
import PostgreSQLClient
import Sessions
import Wire

extension StoreTransaction {
    func session(_ id: ObjectID) throws(AuthorityError) -> SessionRecord? {
        try row("SELECT * FROM sessions WHERE id = ?", [id.description]).map(readSession)
    }

    func held(_ session: ObjectID) throws(AuthorityError) -> UserSession? {
        try held("sessions.id = ?", session.description)
    }

    func held(tokenHash: [UInt8]) throws(AuthorityError) -> UserSession? {
        try held("token_hash = ?", tokenHash)
    }

    private func held(
        _ condition: String, _ value: any SQLBindable
    ) throws(AuthorityError) -> UserSession? {
        try row(
            """
            SELECT sessions.*, users.username, users.password_hash, users.anonymous_hash,
                users.administrator, users.may_claim, users.enabled, users.email, users.fields,
                users.updated_at,
                users.created_at AS user_since
            FROM sessions JOIN users ON users.id = sessions.user_id WHERE \(condition)
            """, [value]
        ).map { row throws(AuthorityError) in
            UserSession(
                session: try readSession(row),
                user: try readUser(row, id: "user_id", since: "user_since"))
        }
    }

    /// Finds a session with all data that the requests of its board need.
    func boardSessionQuery(tokenHash: [UInt8]) -> SQLQuery {
        query(
            """
            SELECT sessions.*, users.username, reports.numbers, reports.rules, reports.since
            FROM sessions JOIN users ON users.id = sessions.user_id
            LEFT JOIN reports ON reports.installation_id = sessions.installation_id
            WHERE token_hash = ?
            """, [tokenHash])
    }

    func readBoardSession(_ row: SQLRow) throws(AuthorityError) -> BoardSession {
        BoardSession(
            record: try readSession(row), username: try row.value("username"),
            report: try readReport(row))
    }

    func activeSession(on board: InstallationID) throws(AuthorityError) -> SessionRecord? {
        try row(
            """
            SELECT * FROM sessions
            WHERE installation_id = ? AND state = 'active' AND device_key IS NOT NULL
            """, [board.description]
        ).map(readSession)
    }

    func activeSessions(
        of user: UserID, on installation: InstallationID
    ) throws(AuthorityError) -> [SessionRecord] {
        // Each partial index is used only if the query names its condition.
        let found = try rows(
            """
            SELECT * FROM sessions WHERE user_id = ?1 AND installation_id = ?2
                AND state = 'active' AND device_key IS NOT NULL
            UNION ALL SELECT * FROM sessions WHERE user_id = ?1 AND installation_id = ?2
                AND state = 'active' AND device_key IS NULL
            """, [user.description, installation.description])
        return try map(found, readSession)
    }

    func departing(on board: InstallationID) throws(AuthorityError) -> SessionRecord? {
        try row(
            """
            SELECT * FROM sessions WHERE installation_id = ? AND end_notice_until IS NOT NULL
            ORDER BY ended_at DESC LIMIT 1
            """, [board.description]
        ).map(readSession)
    }

    func lastEnded(on board: InstallationID) throws(AuthorityError) -> SessionRecord? {
        try row(
            """
            SELECT * FROM sessions WHERE installation_id = ? AND state = 'ended'
                AND device_key IS NOT NULL AND end_reason NOT LIKE 'claim %'
            ORDER BY ended_at DESC LIMIT 1
            """, [board.description]
        ).map(readSession)
    }

    func sessions(
        of user: UserID?, _ choice: SessionChoice, _ slice: ListSlice
    ) throws(AuthorityError) -> [SessionRecord] {
        let order = "ORDER BY created_at DESC, id LIMIT \(slice.limit) OFFSET \(slice.skip)"
        let current = "(state <> 'ended' OR end_notice_until IS NOT NULL)"
        let notEnded = "(\(current) AND coalesce(end_reason, '') IN ('', 'expired'))"
        let chosen = switch choice {
        case .current: current
        case .restricted: "\(current) AND restricted"
        case .notEnded: notEnded
        case .restrictedNotEnded: "\(notEnded) AND restricted"
        case .activeRestricted: "state = 'active' AND restricted"
        }
        let found = if let user {
            try rows(
                "SELECT * FROM sessions WHERE user_id = ? AND \(chosen) \(order)",
                [user.description])
        } else {
            try rows("SELECT * FROM sessions WHERE \(chosen) \(order)")
        }
        return try map(found, readSession)
    }

    func ownSessions(of user: UserID) throws(AuthorityError) -> [SessionRecord] {
        var found: [SessionRecord] = []
        while true {
            let last = found.last
            let piece = try map(
                try rows(
                    """
                    SELECT * FROM sessions WHERE user_id = ? AND (state <> 'ended'
                        OR (end_notice_until IS NOT NULL AND end_reason = 'expired'))
                        AND (created_at, id) > (?, ?)
                    ORDER BY created_at, id LIMIT \(Self.piece)
                    """,
                    [user.description, last?.session.createdAt.milliseconds ?? Int64.min,
                     last?.id.description ?? ""]),
                readSession)
            found += piece
            if piece.count < Self.piece { return found }
        }
    }

    func sessionsOffBoards(of user: UserID) throws(AuthorityError) -> [SessionRecord] {
        try map(
            try rows(
                """
                SELECT * FROM sessions
                WHERE user_id = ? AND device_key IS NULL AND state <> 'ended'
                ORDER BY created_at, id
                """, [user.description]),
            readSession)
    }

    func expiredSessions(
        at now: Timestamp, madeBefore: Timestamp?, idleSince: Timestamp?, limit: Int
    ) throws(AuthorityError) -> [SessionRecord] {
        let idle = idleSince?.milliseconds ?? -1
        let made = madeBefore?.milliseconds ?? -1
        return try map(
            try rows(
                """
                SELECT * FROM sessions WHERE id IN (
                    SELECT id FROM sessions WHERE state = 'active' AND expires_at <= ?1
                    UNION SELECT id FROM sessions WHERE state = 'active' AND absolute_limit <= ?1
                    UNION SELECT id FROM sessions WHERE state = 'active' AND
                        \(dialect.hourSeen) <= CAST(?2 AS BIGINT) / 3600000 AND last_seen <= ?2
                    UNION SELECT id FROM sessions WHERE state = 'active' AND created_at <= ?3
                ) LIMIT ?4
                """, [now.milliseconds, idle, made, limit]),
            readSession)
    }

    func overdueEndNotices(
        at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> [SessionRecord] {
        try map(
            try rows(
                "SELECT * FROM sessions WHERE end_notice_until <= ? LIMIT ?",
                [now.milliseconds, limit]),
            readSession)
    }

    func deleteSessions(
        endedBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        let found = try rows(
            """
            SELECT id FROM sessions WHERE state = 'ended' AND ended_at < ?1
                AND end_notice_until IS NULL
                AND NOT EXISTS (
                    SELECT 1 FROM claims WHERE session_id = sessions.id AND state = 'sent')
            ORDER BY ended_at LIMIT ?2
            """, [time.milliseconds, limit])
        for row in found {
            let id: String = try row.value("id")
            try run(
                """
                INSERT INTO spent_secrets
                SELECT secret_hash FROM claims WHERE session_id = ? AND state = 'accepted'
                ON CONFLICT DO NOTHING
                """, [id])
            for statement in [
                "DELETE FROM claims WHERE session_id = ?",
                "DELETE FROM families WHERE session_id = ?",
                "DELETE FROM person_logins WHERE session_id = ?",
                "DELETE FROM push_subscriptions WHERE session_id = ?",
                "DELETE FROM timeline WHERE session_id = ?",
                "DELETE FROM sessions WHERE id = ?",
            ] { try run(statement, [id]) }
        }
        return found.count
    }

    func noteUse(of session: ObjectID, at now: Timestamp) throws(AuthorityError) {
        try run(
            "UPDATE sessions SET last_seen = ? WHERE id = ?",
            [now.milliseconds, session.description])
    }

    func noteConfirmation(of session: ObjectID, at now: Timestamp) throws(AuthorityError) {
        try run(
            "UPDATE sessions SET confirmed_at = ? WHERE id = ?",
            [now.milliseconds, session.description])
    }

    func save(_ record: SessionRecord, at now: Timestamp) throws(AuthorityError) {
        let session = record.session
        try run(
            """
            INSERT INTO sessions (
                id, user_id, state, end_reason, restricted, action, provider, installation_id,
                created_at, expires_at, custom, token_hash, family, device_key, scope,
                scope_notice_id, scope_notice_payload, absolute_limit, last_seen, ended_at,
                end_notice_payload, end_notice_until)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                state = excluded.state, end_reason = excluded.end_reason,
                installation_id = excluded.installation_id, family = excluded.family,
                token_hash = excluded.token_hash,
                device_key = excluded.device_key, expires_at = excluded.expires_at,
                custom = excluded.custom, scope = excluded.scope,
                scope_notice_id = excluded.scope_notice_id,
                scope_notice_payload = excluded.scope_notice_payload,
                last_seen = excluded.last_seen,
                ended_at = coalesce(sessions.ended_at, excluded.ended_at),
                end_notice_payload = excluded.end_notice_payload,
                end_notice_until = excluded.end_notice_until
            """,
            [record.id.description, session.user.description, record.state.rawValue,
             record.endReason, session.restricted, session.createdWith.action,
             session.createdWith.authProvider, session.installationID?.description,
             session.createdAt.milliseconds, session.expiresAt?.milliseconds,
             session.custom.isEmpty ? nil : JSONValue.object(session.custom).text,
             record.tokenHash, record.family?.bytes,
             record.deviceKey, record.scope?.text,
             record.scopeNotice?.id.description, record.scopeNotice?.payload,
             record.absoluteLimit?.milliseconds ?? Self.noLimit, record.lastSeen.milliseconds,
             record.state == .ended ? now.milliseconds : nil,
             record.endNotice?.payload, record.endNotice?.until.milliseconds])
    }

    /// The value of `absolute_limit`, which cannot be NULL, for no limit.
    private static let noLimit = Int64.max

    func readSession(_ row: SQLRow) throws(AuthorityError) -> SessionRecord {
        let session = Session(
            objectID: try row.parsed("id", ObjectID.init),
            user: try row.parsed("user_id", UserID.init),
            restricted: try row.value("restricted"),
            createdWith: CreatedWith(
                action: try row.value("action"), authProvider: try row.value("provider")),
            installationID: try row.parsedOptional("installation_id", InstallationID.init),
            createdAt: try row.time("created_at"), expiresAt: try row.optionalTime("expires_at"),
            custom: try members(row, "custom"))
        var record = SessionRecord(
            session: session,
            state: try row.parsed("state", SessionRecord.State.init(rawValue:)),
            tokenHash: try row.bytes("token_hash"),
            family: try row.optionalBytes("family").flatMap(RefreshFamilyID.init),
            deviceKey: try row.optionalBytes("device_key"),
            scope: try row.optional("scope").map(ScopeText.init),
            absoluteLimit: try absoluteLimit(row), lastSeen: try row.time("last_seen"))
        if let id = try row.parsedOptional("scope_notice_id", MessageID.init) {
            record.scopeNotice = ScopeNotice(
                id: id, payload: try row.bytes("scope_notice_payload"))
        }
        record.confirmedAt = try row.optionalTime("confirmed_at")
        record.endReason = try row.optional("end_reason")
        if let until = try row.optionalTime("end_notice_until") {
            record.endNotice = EndNotice(
                payload: try row.optionalBytes("end_notice_payload"), until: until)
        }
        return record
    }

    private func absoluteLimit(_ row: SQLRow) throws(AuthorityError) -> Timestamp? {
        let stored: Int64 = try row.value("absolute_limit")
        return stored == Self.noLimit ? nil : Timestamp(milliseconds: stored)
    }

    /// A column with a JSON object; empty if it is NULL.
    func members(
        _ row: SQLRow, _ column: String
    ) throws(AuthorityError) -> [String: JSONValue] {
        guard let text = try row.optional(column, as: String.self) else { return [:] }
        do throws(WireError) {
            return try JSONObject(parsing: Array(text.utf8)).members
        } catch {
            throw damaged(column)
        }
    }

    func family(_ id: RefreshFamilyID) throws(AuthorityError) -> RefreshFamily? {
        try row("SELECT * FROM families WHERE id = ?", [id.bytes]).map {
            row throws(AuthorityError) in
            RefreshFamily(
                id: id, session: try row.parsed("session_id", ObjectID.init),
                generation: UInt64(bitPattern: try row.value("generation")),
                lastRequest: try row.parsedOptional("last_request", MessageID.init),
                lastUse: try row.optionalTime("last_use"),
                invalidated: try row.value("invalidated"))
        }
    }

    func save(_ family: RefreshFamily) throws(AuthorityError) {
        try run(
            """
            INSERT INTO families (id, session_id, generation, last_request, last_use, invalidated)
            VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                generation = excluded.generation, last_request = excluded.last_request,
                last_use = excluded.last_use, invalidated = excluded.invalidated
            """,
            [family.id.bytes, family.session.description,
             Int64(bitPattern: family.generation), family.lastRequest?.description,
             family.lastUse?.milliseconds, family.invalidated])
    }
}
