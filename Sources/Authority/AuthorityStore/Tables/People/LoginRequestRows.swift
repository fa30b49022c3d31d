import AuthorityCore
import PostgreSQLClient
import Sessions

/// Programs that wait until a person allows their login.
extension StoreTransaction {
    /// Longer than a request lives. What ends later was stored while the clock was far ahead.
    private static let countedAhead = Duration.seconds(3600)

    func loginRequest(deviceHash: [UInt8]) throws(AuthorityError) -> LoginRequestRecord? {
        try row("SELECT * FROM login_requests WHERE device_hash = ?", [deviceHash])
            .map(readLoginRequest)
    }

    func loginRequest(userHash: [UInt8]) throws(AuthorityError) -> LoginRequestRecord? {
        try row("SELECT * FROM login_requests WHERE user_hash = ?", [userHash])
            .map(readLoginRequest)
    }

    func loginRequestEnd(
        in scope: RequestScope, skipping skipped: Int, after now: Timestamp
    ) throws(AuthorityError) -> Timestamp? {
        try requestEnd(
            "login_requests", in: scope, skipping: skipped, after: now,
            atMost: now + Self.countedAhead)
    }

    /// The end of the newest row but `skipped` of a table of requests that anybody may make.
    /// Only rows that meet `narrowing` count.
    func requestEnd(
        _ table: String, in scope: RequestScope, skipping skipped: Int, after now: Timestamp,
        atMost latest: Timestamp, narrowing: String = "TRUE"
    ) throws(AuthorityError) -> Timestamp? {
        let (condition, key): (String, [(any SQLBindable)?]) = switch scope {
        case .address(let address): ("address = ?4", [address])
        case .network(let network): ("network = ?4", [network])
        case .all: ("TRUE", [])
        }
        let found = try row(
            """
            SELECT ends_at FROM \(table)
            WHERE \(condition) AND \(narrowing) AND ends_at BETWEEN ?1 AND ?2
            ORDER BY ends_at DESC LIMIT 1 OFFSET ?3
            """,
            [now.milliseconds + 1, latest.milliseconds, Int64(skipped)] + key)
        return try found.map { row throws(AuthorityError) in try row.time("ends_at") }
    }

    func insert(_ request: LoginRequestRecord) throws(AuthorityError) -> Bool {
        let address = CountedOrigin(request.origin)
        return try change(
            """
            INSERT INTO login_requests (
                device_hash, user_hash, program, origin, address, network, created_at, ends_at,
                state)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """,
            [request.deviceHash, request.userHash, request.program, request.origin,
             address.description, RequestScope.network(of: address),
             request.createdAt.milliseconds, request.endsAt.milliseconds,
             request.state.rawValue]) == 1
    }

    func update(_ request: LoginRequestRecord) throws(AuthorityError) {
        try run(
            """
            UPDATE login_requests SET state = ?, user_id = ?, session_id = ?, polled_at = ?
            WHERE device_hash = ?
            """,
            [request.state.rawValue, request.user?.description, request.session?.description,
             request.polledAt?.milliseconds, request.deviceHash])
    }

    func deleteLoginRequest(deviceHash: [UInt8]) throws(AuthorityError) -> Bool {
        try change("DELETE FROM login_requests WHERE device_hash = ?", [deviceHash]) == 1
    }

    func deleteLoginRequests(allowedBy user: UserID) throws(AuthorityError) {
        try run(
            "DELETE FROM login_requests WHERE user_id = ? AND state = 'allowed'",
            [user.description])
    }

    func deleteLoginRequests(
        endedBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM login_requests WHERE device_hash IN (
                SELECT device_hash FROM login_requests WHERE ends_at < ?1 OR ends_at > ?2
                LIMIT ?3)
            """,
            [time.milliseconds, (time + Self.countedAhead).milliseconds, Int64(limit)])
    }

    private func readLoginRequest(_ row: SQLRow) throws(AuthorityError) -> LoginRequestRecord {
        var request = LoginRequestRecord(
            deviceHash: try row.bytes("device_hash"), userHash: try row.bytes("user_hash"),
            program: try row.value("program"), origin: try row.value("origin"),
            createdAt: try row.time("created_at"), endsAt: try row.time("ends_at"))
        request.state = try row.parsed("state", LoginRequestRecord.State.init(rawValue:))
        request.user = try row.parsedOptional("user_id", UserID.init)
        request.session = try row.parsedOptional("session_id", ObjectID.init)
        request.polledAt = try row.optionalTime("polled_at")
        return request
    }
}
