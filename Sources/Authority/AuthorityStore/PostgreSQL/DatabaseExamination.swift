import AuthorityCore
package import PostgreSQLClient
package import Sessions

/// Facts about a database, read while authorities may use it. Read only.
package struct DatabaseExamination: Sendable {
    /// In the server's form: `15.4`.
    package var version = ""
    /// Such as `TLSv1.3`; nil without encryption.
    package var encryption: String?
    /// Whether the connection comes from the server's own machine.
    package var isLocal = false
    /// Whether every role of the server may connect.
    package var isOpen = false
    /// The shortest of five round trips.
    package var latency = Duration.zero
    /// How far `clock` is ahead of the server's clock.
    package var clockLead = Duration.zero
    /// The settings that the authorities on it share; nil if none has served yet.
    package var settings: SharedSettings?
    /// Nil if there are no tables of an authority.
    package var store: StoreExamination?

    /// Reads the facts. Blocks. Without `wrapping` it does not read the keys.
    package init(
        _ address: PostgresAddress, wrapping: (any SecretWrapping)?, clock: () -> Timestamp
    ) throws(PostgresError) {
        let connection = try PostgresConnection(address)
        let server = try connection.query("""
            SELECT current_setting('server_version')::text AS version,
                coalesce((SELECT version FROM pg_stat_ssl
                    WHERE pid = pg_backend_pid() AND ssl), '')::text AS encryption,
                coalesce(host(inet_client_addr()) IN ('127.0.0.1', '::1'), true) AS local,
                has_database_privilege('public', current_database(), 'CONNECT') AS open
            """).first
        if case .text(let text)? = server?["version"] { version = text }
        if case .text(let text)? = server?["encryption"], !text.isEmpty { encryption = text }
        isLocal = server?["local"] == .bool(true)
        isOpen = server?["open"] == .bool(true)
        try measure(connection, clock)
        store = try Self.look(connection, wrapping)
        if let store, store.otherVersion == nil {
            settings = try StoredSettings(connection: connection).read()
        }
    }

    /// Measures latency and clock. The fastest answer also gives the best clock value, taken at the
    /// middle of its time.
    private mutating func measure(
        _ connection: PostgresConnection, _ clock: () -> Timestamp
    ) throws(PostgresError) {
        for attempt in 0..<5 {
            let (begun, wall) = (ContinuousClock.now, clock())
            let row = try connection.query(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now").first
            let span = ContinuousClock.now - begun
            guard attempt == 0 || span < latency,
                case .integer(let milliseconds)? = row?["now"]
            else { continue }
            latency = span
            clockLead = (wall + span / 2) - Timestamp(milliseconds: milliseconds)
        }
    }

    /// Nil if there are no tables.
    private static func look(
        _ connection: PostgresConnection, _ wrapping: (any SecretWrapping)?
    ) throws(PostgresError) -> StoreExamination? {
        var found = StoreExamination()
        try connection.begin(.repeatableRead, readOnly: true)
        defer { connection.rollback() }
        let runner = PostgreSQLRunner(connection)
        guard let version = try Self.version(runner) else { return nil }
        guard version == Schema.version else {
            found.otherVersion = version
            return found
        }
        found.damage = []
        found.isUnfounded = try connection.query("SELECT name FROM keys LIMIT 1").isEmpty
        try countAhead(connection, in: &found)
        let transaction = tables(over: runner, wrapping: wrapping ?? NoWrapping())
        do throws(AuthorityError) {
            found.latest = try transaction.latestTime()
            found.alertDeliveries = try transaction.alertDeliveries()
            if wrapping != nil { found.keys = try transaction.keys() }
        } catch {
            if let failure = runner.failure { throw failure }
            if case .failed(_, let text) = error { found.keyFault = text }
        }
        return found
    }

    private static func version(_ runner: PostgreSQLRunner) throws(PostgresError) -> Int64? {
        do throws(AuthorityError) { return try Schema.found(in: runner) } catch {
            throw runner.failure ?? .misfit("the table schema_version is empty")
        }
    }

    private static func countAhead(
        _ connection: PostgresConnection, in found: inout StoreExamination
    ) throws(PostgresError) {
        let row = try connection.query("""
            SELECT (SELECT count(*) FROM ahead) AS boards,
                EXISTS (SELECT 1 FROM gaps WHERE restored = 1) AS restored
            """).first
        if case .integer(let boards)? = row?["boards"] { found.boardsAhead = Int(boards) }
        found.isRestored = row?["restored"] == .bool(true)
    }
}

/// Used when no secret is read.
private struct NoWrapping: SecretWrapping {
    func isWhole(_ key: KeyRecord) -> Bool { false }

    func wrap(_ secret: SecretBytes, place: String) throws(AuthorityError) -> [UInt8] {
        throw .failed(layer: "store", text: "there is no master key")
    }

    func unwrap(_ bytes: [UInt8], place: String) throws(AuthorityError) -> SecretBytes {
        throw .failed(layer: "store", text: "there is no master key")
    }
}
