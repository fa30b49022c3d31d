import PostgreSQLClient
import PostgresServers
import Testing

@Suite("PostgreSQL that is lost")
struct LossTests {
    /// Runs `work` on a thread of its own and `cut` once a session of the server is in `state`.
    private func lose(
        _ server: PostgresServer, asleepIn query: String,
        by cut: (PostgresServer) async throws -> Void,
        _ work: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Void
    ) async throws -> PostgresError? {
        let address = try PostgresAddress(uri: server.uri(), password: nil)
        let pool = PostgresPool(address, PostgresPool.Bounds(connections: 2))
        defer { pool.close() }
        let lost = Task { try await pool.run(work) }
        let isAsleep = try await eventually {
            try await server.query("""
                SELECT count(*) FROM pg_stat_activity
                WHERE wait_event = 'PgSleep' AND query LIKE '\(query)%'
                """) == "1"
        }
        #expect(isAsleep)
        try await cut(server)
        guard case .failure(let error) = try await lost.value else { return nil }
        return error
    }

    @Test("says that a query was lost with the server, and nothing of it kept")
    func inQuery() async throws {
        let server = try await PostgresServer(isDurable: true)
        let error = try await lose(server, asleepIn: "SELECT pg_sleep") {
            try await $0.stop(.immediate)
        } _: { connection throws(PostgresError) in
            try connection.begin()
            _ = try connection.query("SELECT pg_sleep(60)")
        }
        guard case .lost(_, whileCommitting: false) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("says that a commit may stand where the server went in the middle of it")
    func inCommit() async throws {
        let server = try await PostgresServer(isDurable: true)
        try await server.query("""
            CREATE TABLE slow (n int8);
            CREATE FUNCTION doze() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER dozes AFTER INSERT ON slow
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION doze();
            """)
        let error = try await lose(server, asleepIn: "COMMIT") {
            try await $0.stop(.immediate)
        } _: { connection throws(PostgresError) in
            try connection.begin()
            try connection.send("INSERT INTO slow VALUES (1)")
            try connection.commit()
        }
        guard case .lost(_, whileCommitting: true) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("is gone for good once an administrator ended the session")
    func terminated() async throws {
        let server = try await PostgresServer.shared()
        let address = try PostgresAddress(uri: server.uri(), password: nil)
        let connection = try PostgresConnection(address)
        let other = try PostgresConnection(address)
        let pid = try connection.query("SELECT pg_backend_pid() AS pid").first?["pid"] ?? .null
        #expect(connection.isAlive)
        _ = try other.query("SELECT pg_terminate_backend($1::int4)", [pid])
        #expect(await eventually { !connection.isAlive })
        #expect(!connection.isUsable)
        let error = #expect(throws: PostgresError.self) { _ = try connection.query("SELECT 1") }
        guard case .lost = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
