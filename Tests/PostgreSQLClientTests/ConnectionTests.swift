import PostgresServers
import Testing

@testable import PostgreSQLClient

@Suite("PostgreSQL connection")
struct ConnectionTests {
    private let address: PostgresAddress
    private let connection: PostgresConnection

    init() async throws {
        let server = try await PostgresServer.shared()
        address = try PostgresAddress(uri: server.uri(), password: nil)
        connection = try PostgresConnection(address)
    }

    @Test("brings every kind of value back as it was", arguments: [
        (SQLValue.integer(0), "int8"), (.integer(.max), "int8"), (.integer(.min), "int8"),
        (.integer(-32_768), "int2"), (.integer(2_147_483_647), "int4"), (.null, "int8"),
        (.text(""), "text"), (.text("Grüße, 世界 🌍\u{0301}"), "text"), (.null, "text"),
        (.text(String(repeating: "a", count: 1 << 20)), "text"), (.text("varied"), "varchar(9)"),
        (.blob([]), "bytea"), (.blob([0, 255, 0, 39, 92]), "bytea"), (.null, "bytea"),
        (.blob([UInt8](repeating: 0xA5, count: 1 << 20)), "bytea"),
        (.bool(true), "bool"), (.bool(false), "bool"), (.null, "bool"),
    ])
    func values(value: SQLValue, type: String) throws {
        let rows = try connection.query("SELECT $1::\(type) AS it, 1::int8 AS one", [value])
        #expect(rows.count == 1)
        #expect(rows.first?["it"] == value)
        #expect(rows.first?["one"] == .integer(1))
    }

    @Test("refuses a value that does not fit its parameter, and goes on", arguments: [
        (SQLValue.integer(1), "text"), (.text("1"), "int8"), (.integer(40_000), "int2"),
        (.integer(1 << 31), "int4"), (.text("a\0b"), "text"), (.bool(true), "int8"),
        (.blob([1]), "text"), (.integer(1), "bool"), (.integer(1), "numeric"),
    ])
    func misfit(value: SQLValue, type: String) throws {
        let error = #expect(throws: PostgresError.self) {
            _ = try connection.query("SELECT $1::\(type)", [value])
        }
        guard case .misfit = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try connection.query("SELECT 1::int8 AS one").first?["one"] == .integer(1))
        #expect(throws: PostgresError.self) { _ = try connection.query("SELECT 1", [.null]) }
    }

    @Test("names an error by its SQLSTATE, without the values", arguments: [
        ("SELECT * FROM no_such_table", "42P01"), ("SELEC 1", "42601"),
        ("SELECT 1/0", "22012"), ("SELECT 'hunter2'::int8", "22P02"),
    ])
    func states(sql: String, code: String) throws {
        let error = #expect(throws: PostgresError.self) { _ = try connection.query(sql) }
        guard case .server(let state, let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(state.code == code)
        #expect(!text.contains("hunter2"))
        #expect(connection.isUsable)
        #expect(try connection.query("SELECT true AS yes").first?["yes"] == .bool(true))
    }

    @Test("keeps the values of a refused row out of the error")
    func noDetail() throws {
        try connection.begin()
        try connection.send("CREATE TEMP TABLE secrets (token text PRIMARY KEY)")
        try connection.send("INSERT INTO secrets VALUES ($1)", [.text("hunter2")])
        try connection.send("INSERT INTO secrets VALUES ($1)", [.text("hunter2")])
        let error = #expect(throws: PostgresError.self) { try connection.commit() }
        guard case .server(.uniqueViolation, let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains("secrets_pkey") && !text.contains("hunter2"))
        #expect(!connection.isInTransaction)
    }

    @Test("answers a thousand queued writes in one round trip, in their order")
    func pipeline() throws {
        try connection.begin()
        try connection.send("CREATE TEMP TABLE numbers (n int8, filler bytea)")
        let filler = SQLValue.blob([UInt8](repeating: 7, count: 4096))
        for number in 0..<1000 {
            try connection.send(
                "INSERT INTO numbers VALUES ($1, $2)", [.integer(Int64(number)), filler])
        }
        let sum = try connection.query("SELECT sum(n)::int8 AS sum, count(*) AS n FROM numbers")
        #expect(sum.first?["sum"] == .integer(499_500))
        #expect(sum.first?["n"] == .integer(1000))
        #expect(try connection.change("DELETE FROM numbers WHERE n < $1", [.integer(10)]) == 10)
        try connection.commit()
        let left = try connection.query("SELECT n FROM numbers ORDER BY n")
        #expect(left.count == 990 && left.first?["n"] == .integer(10))
    }

    @Test("takes in what was answered before too much of it waits")
    func longPipeline() throws {
        try connection.begin()
        try connection.send("CREATE TEMP TABLE many (n int8)")
        for number in 0..<5000 {
            try connection.send("INSERT INTO many VALUES ($1)", [.integer(Int64(number))])
            #expect(connection.unanswered.count <= 2000)
        }
        let sum = try connection.query("SELECT sum(n)::int8 AS sum FROM many")
        #expect(sum.first?["sum"] == .integer(12_497_500))
        try connection.send("INSERT INTO many VALUES ($1)", [.integer(0)])
        try connection.commit()
        // One that fails is heard of by then, and nothing of its transaction stays.
        try connection.begin()
        let error = #expect(throws: PostgresError.self) {
            try connection.send("INSERT INTO many VALUES (1/($1::int8))", [.integer(0)])
            for number in 0..<5000 {
                try connection.send("INSERT INTO many VALUES ($1)", [.integer(Int64(number))])
            }
        }
        guard case .server(let state, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(state.code == "22012")
        connection.rollback()
        #expect(try connection.query("SELECT n FROM many").count == 5001)
    }

    @Test("does not lock up where the server answers much while much is sent")
    func floods() throws {
        let text = SQLValue.text(String(repeating: "x", count: 100_000))
        for _ in 0..<200 { try connection.send("SELECT $1::text || $1::text", [text]) }
        #expect(try connection.query("SELECT 1::int8 AS one").count == 1)
    }

    @Test("undoes a transaction whose queued write failed, and says which error came first")
    func firstError() throws {
        try connection.begin()
        try connection.send("CREATE TEMP TABLE kept (n int8 CHECK (n > 0))")
        try connection.send("INSERT INTO kept VALUES ($1)", [.integer(-1)])
        try connection.send("INSERT INTO kept VALUES ($1)", [.integer(5)])
        let error = #expect(throws: PostgresError.self) { try connection.commit() }
        guard case .server(let state, _) = error else { return }
        #expect(state.code == "23514")
        #expect(!connection.isInTransaction)
        #expect(throws: PostgresError.self) { _ = try connection.query("SELECT * FROM kept") }
    }

    @Test("never takes the commit of a failed transaction for one")
    func failedCommit() throws {
        try connection.begin()
        #expect(throws: PostgresError.self) { _ = try connection.query("SELECT 1/0") }
        #expect(connection.isInTransaction)
        let error = #expect(throws: PostgresError.self) { try connection.commit() }
        guard case .server(.failedTransaction, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!connection.isInTransaction && connection.isUsable)
    }

    @Test("rolls back what was only queued, too")
    func rollback() throws {
        try connection.send("CREATE TEMP TABLE undone (n int8)")
        _ = try connection.query("SELECT 1")
        try connection.begin()
        try connection.send("INSERT INTO undone VALUES (1)")
        connection.rollback()
        #expect(!connection.isInTransaction)
        #expect(try connection.query("SELECT n FROM undone").isEmpty)
    }

    @Test("closes itself over a result without end")
    func bounds() throws {
        var limits = PostgresLimits.usual
        limits.rows = 1000
        let small = try PostgresConnection(address, limits: limits)
        #expect(try small.query("SELECT generate_series(1, 1000)").count == 1000)
        let error = #expect(throws: PostgresError.self) {
            _ = try small.query("SELECT generate_series(1, 100000000)")
        }
        guard case .tooLarge = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!small.isUsable)
        limits.bytes = 100_000
        let narrow = try PostgresConnection(address, limits: limits)
        #expect(throws: PostgresError.self) {
            _ = try narrow.query("SELECT repeat('x', 1000) FROM generate_series(1, 200)")
        }
    }

    @Test("keeps a bounded number of statements prepared")
    func statements() throws {
        var limits = PostgresLimits.usual
        limits.statements = 5
        let small = try PostgresConnection(address, limits: limits)
        for number in 0..<20 { _ = try small.query("SELECT \(number)::int8") }
        let rows = try small.query("SELECT count(*) AS n FROM pg_prepared_statements")
        #expect(rows.first?["n"] == .integer(5))
    }

    @Test("gives up a statement, and a lock, after its time")
    func timeouts() throws {
        var limits = PostgresLimits.usual
        limits.statement = .milliseconds(60)
        limits.lock = .milliseconds(30)
        let hasty = try PostgresConnection(address, limits: limits)
        let late = #expect(throws: PostgresError.self) {
            _ = try hasty.query("SELECT pg_sleep(60)")
        }
        guard case .server(.queryCanceled, _) = late else {
            Issue.record("\(String(describing: late))")
            return
        }
        _ = try connection.query("SELECT pg_advisory_lock(77, 77)")
        let locked = #expect(throws: PostgresError.self) {
            _ = try hasty.query("SELECT pg_advisory_lock(77, 77)")
        }
        guard case .server(.lockNotAvailable, _) = locked else {
            Issue.record("\(String(describing: locked))")
            return
        }
        #expect(hasty.isUsable)
    }
}
