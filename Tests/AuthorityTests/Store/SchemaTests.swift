import AuthorityCore
import Foundation
import GRDB
import Sessions
import Testing

@testable import AuthorityCommands
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

    @Test("has every table, each after those that its rows name, with the columns described")
    func tables() async throws {
        let store = try open(path)
        try await store.pool.read { database in
            let names = try String.fetchAll(database, sql: """
                SELECT name FROM sqlite_master WHERE type = 'table'
                    AND name NOT LIKE 'sqlite_%' AND name <> 'schema_version'
                """)
            #expect(Set(names) == Set(Schema.tables.map(\.name)))
            for (place, table) in Schema.tables.enumerated() {
                let columns = try database.columns(in: table.name)
                #expect(columns.map(\.name) == table.stored.map(\.name), "\(table.name)")
                let key = try database.primaryKey(table.name)
                #expect(key.columns == table.key, "\(table.name)")
                let named = try database.foreignKeys(on: table.name).map(\.destinationTable)
                let known = Set(Schema.tables.prefix(place).map(\.name))
                #expect(known.isSuperset(of: named), "\(table.name)")
            }
        }
    }

    @Test("is made wholly or not at all after a power cut at any instant of it")
    func cut() async throws {
        let store = try open(path)
        // A reader keeps the log from being carried into the file.
        let snapshot = try store.pool.makeSnapshot()
        let file = try Data(contentsOf: URL(fileURLWithPath: path))
        let log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
        try snapshot.close()
        try store.close()
        #expect(log.count > 20 * 4096)
        for length in Array(stride(from: 0, through: log.count, by: 19_973)) + [log.count] {
            let copy = "\(folder.path)/cut-\(length).db"
            try file.write(to: URL(fileURLWithPath: copy))
            try log.prefix(length).write(to: URL(fileURLWithPath: copy + "-wal"))
            let opened = try open(copy)
            let users = try await opened.read { tx throws(AuthorityError) in try tx.users() }
            #expect(users.isEmpty, "\(length)")
            try opened.close()
        }
    }

    private func names() async throws -> [String] {
        let queue = try DatabaseQueue(path: path)
        return try await queue.read { database in
            try String.fetchAll(database, sql: "SELECT name FROM sqlite_master ORDER BY name")
        }
    }

    @Test("of another version, or of none, is refused by the file's name, and nothing is changed",
          arguments: ["UPDATE schema_version SET number = 2", "DROP TABLE schema_version"])
    func other(change: String) async throws {
        try open(path).close()
        let raw = try DatabaseQueue(path: path)
        try await raw.write { try $0.execute(sql: change) }
        try raw.close()
        let before = try await names()
        let error = #expect(throws: AuthorityError.self) { try open(path) }
        guard case .failed(layer: "schema", let text) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(text.contains(path))
        #expect(text.contains("install the version of the program that wrote it"))
        let known = AuthorityError.failed(layer: "schema", text: text)
        #expect(Exit.code(for: known) == Exit.configuration)
        #expect(throws: known) { _ = try StoreFile(path: path).verify() }
        #expect(try StoreExamination(path: path, wrapping: nil).otherVersion != nil)
        #expect(try await names() == before)
    }
}
