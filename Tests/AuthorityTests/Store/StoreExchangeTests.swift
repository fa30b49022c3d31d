import AuthorityCore
import AuthorityStore
import Foundation
import GRDB
import LinuxIO
import Sessions
import Testing

@testable import AuthorityService

@Suite("Exchange of a store's file")
struct StoreExchangeTests {
    private let folder: TemporaryFolder
    private let exchange: StoreExchange

    init() throws {
        folder = try TemporaryFolder()
        try MasterKey.make(at: "\(folder.path)/authority.key")
        exchange = StoreExchange(
            database: "\(folder.path)/authority.db",
            incoming: "\(folder.path)/authority.db.incoming",
            kept: "\(folder.path)/authority.db.before-7")
    }

    /// Writes a store whose mark is `mark`, and leaves it as a process that was killed would.
    private func make(_ path: String, mark: Int64, isKilled: Bool = false) async throws {
        let store = try SQLiteAuthorityStore(
            path: path, wrapping: MasterKey(at: "\(folder.path)/authority.key"))
        try await store.raiseLatestTime(to: Timestamp(milliseconds: mark))
        guard isKilled else { return try store.close() }
        let log = try Data(contentsOf: URL(fileURLWithPath: "\(path)-wal"))
        let file = try Data(contentsOf: URL(fileURLWithPath: path))
        try store.close()
        try file.write(to: URL(fileURLWithPath: path))
        try log.write(to: URL(fileURLWithPath: "\(path)-wal"))
    }

    private func mark(of path: String) throws -> Int64? {
        try StoreExamination(path: path, wrapping: nil).latest?.milliseconds
    }

    @Test("leaves the old one or the new one in place wherever it is cut, and goes on",
          arguments: 0...StoreExchange.Step.allCases.count, [false, true])
    func cut(count: Int, isKilled: Bool) async throws {
        try await make(exchange.database, mark: 1, isKilled: isKilled)
        try await make(exchange.incoming, mark: 2)
        for step in StoreExchange.Step.allCases.prefix(count) { try exchange.run(step) }
        let isWhole = count == StoreExchange.Step.allCases.count
        #expect(try mark(of: exchange.database) == (isWhole ? 2 : 1))
        if isWhole { #expect(try mark(of: exchange.kept) == 1) }
        guard !isWhole else { return }
        let again = StoreExchange(
            database: exchange.database, incoming: exchange.incoming,
            kept: "\(folder.path)/authority.db.before-8")
        try again.run()
        #expect(!PrivateFile.isThere("\(again.database)-wal"))
        #expect(try mark(of: again.database) == 2)
        #expect(try mark(of: again.kept) == 1)
        // Whoever wrote to one name of two would not see the other's log.
        #expect(!PrivateFile.isThere(exchange.kept))
    }

    @Test("keeps the log of one that is being read beside it, and none beside the new one")
    func read() async throws {
        try await make(exchange.database, mark: 1, isKilled: true)
        try await make(exchange.incoming, mark: 2)
        let reader = try DatabaseQueue(path: exchange.database)
        try await reader.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN; SELECT count(*) FROM users")
            try exchange.run()
            try database.execute(sql: "ROLLBACK")
        }
        #expect(PrivateFile.isThere("\(exchange.kept)-wal"))
        #expect(!PrivateFile.isThere("\(exchange.database)-wal"))
        #expect(try mark(of: exchange.database) == 2)
        #expect(try mark(of: exchange.kept) == 1)
    }

    @Test("takes the place of one that is damaged, and keeps it")
    func damaged() async throws {
        try await make(exchange.incoming, mark: 2)
        let bytes = [UInt8](repeating: 7, count: 8192)
        try PrivateFile.write(exchange.database, bytes)
        try exchange.run()
        #expect(try mark(of: exchange.database) == 2)
        #expect(try PrivateFile.read(exchange.kept, limit: 8192) == bytes)
    }

    @Test("puts one where there was none")
    func first() async throws {
        try await make(exchange.incoming, mark: 2)
        try exchange.run()
        #expect(try mark(of: exchange.database) == 2)
        #expect(!PrivateFile.isThere(exchange.kept))
    }
}
