import AuthorityCore
import Cryptography
import Foundation
import GRDB
import LinuxIO
import Sessions
import Testing

@testable import AuthorityService
@testable import AuthorityStore

@Suite("Authority's schema")
struct SchemaTests {
    private let folder: TemporaryFolder
    private var path: String { "\(folder.path)/authority.db" }

    init() throws {
        folder = try TemporaryFolder()
        try MasterKey.make(at: "\(folder.path)/authority.key")
    }

    private func open(_ path: String) throws -> SQLiteAuthorityStore {
        try SQLiteAuthorityStore(
            path: path, wrapping: MasterKey(at: "\(folder.path)/authority.key"))
    }

    /// A database as the program wrote it that knew this migration as its last.
    private func old(upTo migration: String) throws -> DatabasePool {
        let pool = try DatabasePool(path: path)
        try Schema.migrator.migrate(pool, upTo: migration)
        try pool.write { database in
            try database.execute(sql: """
                INSERT INTO users (id, username, password_hash, administrator, may_claim,
                    created_at) VALUES ('user000001', 'ada', 'hash', 1, 1, 7);
                INSERT INTO boards (id, name, device_key, owner, released)
                    VALUES ('00000000-0000-4000-8000-000000000001', 'shed', x'00',
                        'user000001', 0);
                """)
        }
        return pool
    }

    private func expectWhole(_ path: String, _ note: String = "") async throws {
        let store = try open(path)
        let users = try await store.read { tx throws(AuthorityError) in try tx.users() }
        #expect(users.map(\.username) == ["ada"], "\(note)")
        #expect(users.map(\.isEnabled) == [true], "\(note)")
        try await store.pool.read { database in
            let isDone = try Schema.migrator.hasCompletedMigrations(database)
            let health = try String.fetchAll(database, sql: "PRAGMA integrity_check")
            let strays = try Row.fetchAll(database, sql: "PRAGMA foreign_key_check")
            let boards = try String.fetchAll(database, sql: "SELECT name FROM boards")
            #expect(isDone && health == ["ok"] && strays.isEmpty, "\(note)")
            #expect(boards == ["shed"], "\(note)")
        }
        try store.close()
    }

    @Test("is brought up from every one before, with all that stood there",
        arguments: Schema.migrator.migrations)
    func upgrade(migration: String) async throws {
        try old(upTo: migration).close()
        for _ in 0..<2 { try await expectWhole(path) }
    }

    @Test("is brought up after a power cut at any instant of it")
    func cut() async throws {
        let pool = try old(upTo: "1")
        _ = try await pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        // A reader keeps the log from being carried into the file while it is brought up.
        let snapshot = try pool.makeSnapshot()
        let store = try open(path)
        let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        try store.close()
        try snapshot.close()
        #expect(log.count > 20 * 4096)
        for length in Array(stride(from: 0, through: log.count, by: 9973)) + [log.count] {
            let copy = "\(folder.path)/cut-\(length).db"
            try before.write(to: URL(fileURLWithPath: copy))
            try log.prefix(length).write(to: URL(fileURLWithPath: copy + "-wal"))
            try await expectWhole(copy, "\(length)")
        }
    }

    @Test("of a later program is refused by the file's name, and nothing is changed")
    func later() async throws {
        try old(upTo: try #require(Schema.migrator.migrations.last)).close()
        let raw = try DatabaseQueue(path: path)
        try await raw.write { database in
            try database.execute(
                sql: "INSERT INTO grdb_migrations (identifier) VALUES ('moon')")
        }
        try raw.close()
        let error = #expect(throws: AuthorityError.self) { try open(path) }
        guard case .failed(layer: "schema", let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains(path) && text.contains("`moon`"))
        let known = AuthorityError.failed(layer: "schema", text: text)
        #expect(Exit.code(for: known) == Exit.configuration)
        let again = try DatabaseQueue(path: path)
        let left = try await again.read { try Schema.migrator.appliedIdentifiers($0) }
        #expect(left.contains("moon") && left.isSuperset(of: Schema.migrator.migrations))
    }
}
