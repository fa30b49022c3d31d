import AuthorityCore
import AuthorityData
import Gate
import PostgreSQLClient
import PostgresServers
import Sessions
import Testing

@Suite("Records in PostgreSQL", .enabled(if: PostgresServer.isInstalled))
struct PostgreSQLDataTests {
    private func database() async throws -> (PostgresServer, PostgresAddress, name: String) {
        let server = try await PostgresServer.shared()
        let uri = try await server.newDatabase()
        let name = uri.split(separator: "?")[0].split(separator: "/").last.map(String.init) ?? ""
        return (server, try PostgresAddress(uri: uri, password: nil), name)
    }

    @Test("are in a partition for each day, which is dropped whole")
    func partitions() async throws {
        let (server, address, name) = try await database()
        let store = PostgreSQLDataStore(address)
        let day = Duration.seconds(86_400)
        func partitions() async throws -> [String] {
            try await server.query("""
                SELECT tableoid::regclass || ' ' || count(*) FROM data_records
                GROUP BY tableoid ORDER BY min(written_at)
                """, database: name).split(separator: "\n").map(String.init)
        }
        let first = Given.start.milliseconds / 86_400_000
        _ = try await store.keep([Given.record(1), Given.record(2, at: day * -20)])
        // A pause of 9 days: a board comes with what it stored in it.
        _ = try await store.keep([
            Given.record(3, at: day * 4, wait: day * 5), Given.record(4, at: day * 9),
        ])
        #expect(try await partitions() == [
            "data_past 1", "data_day_\(first) 1", "data_day_\(first + 4) 1",
            "data_day_\(first + 9) 1",
        ])
        let bounds = DataBounds(keep: .seconds(5 * 86_400), maxBytes: .max)
        while try await store.trim(bounds, now: Given.start + day * 8).isMore {}
        #expect(try await partitions() == [
            "data_day_\(first + 4) 1", "data_day_\(first + 9) 1",
        ])
        let old = try await server.query(
            "SELECT to_regclass('data_day_\(first)') IS NULL", database: name)
        #expect(old == "t\n" || old == "t")
        store.close()
    }

    @Test("are kept once by two authorities that get the same")
    func shared() async throws {
        let (_, address, _) = try await database()
        let (one, two) = (
            PostgreSQLDataStore(address), PostgreSQLDataStore(address))
        let records = (0..<400).map {
            Given.record($0 / 4, at: .seconds($0 / 4), board: Given.board(UInt8($0 % 4)))
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for start in stride(from: 0, to: 400, by: 40) {
                let part = Array(records[start..<start + 40])
                for store in [one, two] {
                    group.addTask { try await store.keep(part.shuffled()).stored }
                }
            }
            let stored = try await group.reduce(0, +)
            #expect(stored == 400)
        }
        #expect(try await one.usage().records == 400)
        #expect(try await two.records(RecordQuery(owner: Given.ann, limit: 1000)).count == 400)
        one.close()
        two.close()
    }

    @Test("are read by the role that REPLICAS.md makes, in one view and nowhere else")
    func reader() async throws {
        let (server, address, name) = try await database()
        let store = PostgreSQLDataStore(address)
        _ = try await store.keep([
            Given.record(1, #"{"celsius":21.5}"#), Given.record(2, "a\\u0000b", at: .seconds(1)),
            Given.write(.update, "lamp", 3, "\0", at: .seconds(2)),
        ])
        try await server.query("""
            CREATE ROLE reader_\(name) LOGIN;
            GRANT CONNECT ON DATABASE \(name) TO reader_\(name);
            GRANT USAGE ON SCHEMA public TO reader_\(name);
            GRANT SELECT ON postern_data TO reader_\(name);
            """, database: name)
        let rows = try await server.query("""
            SET ROLE reader_\(name);
            SELECT extract(epoch FROM time)::bigint, board, operation, object_id, payload
            FROM postern_data ORDER BY time
            """, database: name).split(separator: "\n")
        #expect(rows.map(String.init) == [
            #"1800000000|\#(Given.board)|create|\#(Given.id(1))|{"celsius": 21.5}"#,
            #"1800000001|\#(Given.board)|create|\#(Given.id(2))|"a\\u0000b""#,
            #"1800000002|\#(Given.board)|update|lamp|"AA==""#,
        ])
        await #expect(throws: (any Error).self) {
            try await server.query(
                "SET ROLE reader_\(name); SELECT 1 FROM data_records", database: name)
        }
        store.close()
    }

    @Test("are refused if their tables have another version")
    func version() async throws {
        let (server, address, name) = try await database()
        let first = PostgreSQLDataStore(address)
        _ = try await first.usage()
        first.close()
        try await server.query("UPDATE data_version SET number = 2", database: name)
        let store = PostgreSQLDataStore(address)
        defer { store.close() }
        do {
            _ = try await store.keep([Given.record(1)])
            Issue.record("it opened")
        } catch {
            guard case .failed(layer: "schema", _) = error else { throw error }
        }
    }
}
