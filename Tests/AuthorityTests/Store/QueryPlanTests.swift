import AuthorityCore
import Cryptography
import GRDB
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityStore

/// What SQLite says of the statements that a board's requests really run.
@Suite("Statements of a board's requests")
struct QueryPlanTests {
    private final class Noted: Sendable {
        private let statements = Mutex<Set<String>>([])

        func add(_ event: Database.TraceEvent) {
            guard case .statement(let statement) = event else { return }
            let sql = statement.sql
            statements.withLock { _ = $0.insert(sql) }
        }

        var all: [String] {
            statements.withLock { $0.sorted() }.filter { text in
                ["SELECT", "INSERT", "UPDATE", "DELETE"].contains { text.hasPrefix($0) }
            }
        }
    }

    /// Runs `act` and returns what was run in the database meanwhile.
    private func statements(
        _ house: House, _ act: () async throws -> Void
    ) async throws -> [String] {
        let noted = Noted()
        try await house.file.pool.writeWithoutTransaction { database in
            database.trace { noted.add($0) }
        }
        // One reader is enough for requests that come one by one.
        try await house.file.pool.read { database in database.trace { noted.add($0) } }
        try await act()
        try await house.file.pool.writeWithoutTransaction { $0.trace() }
        try await house.file.pool.read { $0.trace() }
        return noted.all
    }

    private func plan(_ sql: String, _ house: House) async throws -> [String] {
        try await house.file.pool.read { database in
            // What is bound has no part in the plan.
            let bare = sql.replacing(/\?[0-9]*/, with: "0")
            return try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(bare)")
                .map { $0["detail"] }
        }
    }

    @Test("find each row by an index, whatever is stored", arguments: ["heartbeat", "refresh"])
    func indexes(kind: String) async throws {
        let house = try await House()
        let live = try await house.provisioned(BoardDouble(), by: house.login())
        let first = try await live.ask(.refresh(live.provision.tokens.refresh))
        let token = try #require(first.result?.refreshToken)
        let found = try await statements(house) {
            let body: BoardMessage.Body = kind == "refresh"
                ? .refresh(token)
                : .authenticate(live.provision.tokens.session, durationMinutes: nil)
            let reply = try await live.ask(body)
            #expect(reply.result != nil)
            // A request does it by chance.
            try await house.store.transact { transaction throws(AuthorityError) in
                try transaction.trimReplies(of: live.board.installation, toNewest: 1)
            }
        }
        #expect(found.contains { $0.contains("replies") })
        #expect(found.contains { $0.contains("device_key") })
        #expect(found.count >= 6)
        for sql in found {
            for step in try await plan(sql, house) {
                #expect(!step.hasPrefix("SCAN"), "\(sql)\n\(step)")
            }
        }
    }

    @Test("of a person's login look at none of his boards' sessions")
    func login() async throws {
        let house = try await House()
        let found = try await statements(house) { _ = try await house.login() }
            .filter { $0.contains("device_key IS NULL AND state <> 'ended'") }
        #expect(found.count == 1)
        for sql in found {
            let steps = try await plan(sql, house)
            #expect(steps.contains { $0.contains("sessions_off_boards") }, "\(steps)")
        }
    }

    @Test("of a page of boards find a person's own, and what each has, by an index",
        arguments: [BoardQuery.Order.name, .attention], [false, true])
    func boards(order: BoardQuery.Order, everyone: Bool) async throws {
        let house = try await House()
        let ada = try await house.login()
        _ = try await house.provisioned(BoardDouble(), by: ada)
        let found = try await statements(house) {
            var query = BoardQuery()
            query.order = order
            query.everyone = everyone
            _ = try await house.authority.boards(query, by: ada)
        }.filter { $0.contains("FROM boards") }
        #expect(found.count >= 3)
        for sql in found {
            // Everyone's are read by their names, and the boards that were found one by one.
            let scans = try await plan(sql, house).filter { step in
                step.hasPrefix("SCAN") && step != "SCAN chosen"
                    && !(everyone && step.contains("INDEX boards_by_name"))
            }
            #expect(scans.isEmpty || (everyone && sql.contains("GROUP BY labels")), "\(sql)")
        }
    }

    @Test("are not held up by a count that looks up each session in its turn")
    func count() async throws {
        let house = try await House()
        let found = try await statements(house) { _ = try await house.store.tally() }
            .filter { $0.contains("FROM sessions") && !$0.contains("end_reason") }
        #expect(found.count == 1)
        for sql in found { #expect(try await plan(sql, house) == ["SCAN sessions"]) }
    }

    @Test("are few, and write no more of a session than its last use")
    func few() async throws {
        let house = try await House()
        let live = try await house.provisioned(BoardDouble(), by: house.login())
        let found = try await statements(house) {
            let payload = try live.payload(
                .authenticate(live.provision.tokens.session, durationMinutes: nil))
            let heard = try await house.authority.hear(
                payload, from: live.board.installation,
                trying: live.board.key.publicKey.rawRepresentation)
            #expect(try live.reply(in: heard.answer).result != nil)
        }
        // Old replies are deleted by chance.
        let usual = found.filter { !$0.hasPrefix("DELETE") }
        let writes = usual.filter { !$0.hasPrefix("SELECT") }
        #expect(writes.count == 2, "\(writes)")
        #expect(writes.contains("UPDATE sessions SET last_seen = ? WHERE id = ?"))
        #expect(usual.count <= 4, "\(usual)")
    }
}
