import AuthorityCore
import PostgreSQLClient
import PostgresServers
import Sessions
import Testing

import AuthorityStore

@Suite("PostgreSQL's schema")
struct PostgreSQLSchemaTests {
    private func place() async throws -> HousePlace { try await HousePlace(.postgreSQL) }

    private func connection(_ place: HousePlace) throws -> PostgresConnection {
        try PostgresConnection(try #require(place.database).address)
    }

    @Test("is made once by several that start at once")
    func together() async throws {
        let place = try await place()
        try await withThrowingTaskGroup { group in
            for _ in 0..<6 {
                group.addTask {
                    let store = try await place.openDatabase()
                    let users = try await store.read { tx throws(AuthorityError) in
                        try tx.users()
                    }
                    #expect(users.isEmpty)
                    try store.close()
                }
            }
            try await group.waitForAll()
        }
        let versions = try connection(place).query("SELECT number FROM schema_version")
        #expect(versions.map { $0["number"] } == [.integer(Schema.version)])
    }

    @Test("of another version is refused, and nothing is changed")
    func other() async throws {
        let place = try await place()
        try await place.openDatabase().close()
        let connection = try connection(place)
        _ = try connection.change("UPDATE schema_version SET number = 2")
        let error = await #expect(throws: AuthorityError.self) {
            try await place.openDatabase()
        }
        guard case .failed(layer: "schema", let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("have version 2"))
    }

    @Test("is made wholly or not at all")
    func broken() async throws {
        let place = try await place()
        let connection = try connection(place)
        try connection.send("CREATE TABLE times (x BIGINT)")
        _ = try connection.query("SELECT 1::bigint AS done")
        await #expect(throws: AuthorityError.self) { try await place.openDatabase() }
        let tables = try connection.query("""
            SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()
            """).map { $0["name"] }
        #expect(tables == [.text("times")])
    }

    @Test("numbers on above what was brought from elsewhere")
    func numbers() async throws {
        let house = try await House(place: place())
        let far: Int64 = 1 << 52
        _ = try connection(house.place).change(
            "INSERT INTO audit (number, at, event, actor, detail) VALUES ($1, 0, 'x', 'y', 'z')",
            [.integer(far)])
        let store = try await house.place.openDatabase()
        let before = try await store.read { tx throws(AuthorityError) in try tx.newestEntry() }
        #expect(before == far)
        try await house.authority.alarm("next", "")
        // Not before all have ended that write elsewhere on this server.
        try await untilTrue {
            try await store.read { tx throws(AuthorityError) in
                try tx.entries(after: before, limit: 10)
            }.map(\.event) == ["alarm.next"]
        }
    }
}
