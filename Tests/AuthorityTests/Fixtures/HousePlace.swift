import AuthorityCore
import AuthorityStore
import PostgreSQLClient
import PostgresServers

@testable import AuthorityService

/// Where a house's records are, for as many stores as a test wants on them.
struct HousePlace: Sendable {
    let folder: TemporaryFolder
    /// Nil for a file.
    let database: TestDatabase?

    init(_ kind: StoreKind) async throws {
        folder = try TemporaryFolder()
        try MasterKey.make(at: "\(folder.path)/authority.key")
        database = kind == .postgreSQL ? try await TestDatabase(.schema, on: .shared()) : nil
    }

    init(_ database: TestDatabase) throws {
        folder = try TemporaryFolder()
        try MasterKey.make(at: "\(folder.path)/authority.key")
        self.database = database
    }

    func open() async throws -> any ServiceStore {
        if database != nil { return try await openDatabase() }
        return try openFile()
    }

    /// The file, where it is one.
    func openFile() throws -> SQLiteAuthorityStore {
        try SQLiteAuthorityStore(
            path: "\(folder.path)/authority.db",
            wrapping: MasterKey(at: "\(folder.path)/authority.key"))
    }

    func openDatabase(connections: Int = 8) async throws -> PostgreSQLAuthorityStore {
        guard let database else { throw NotThat() }
        return try await PostgreSQLAuthorityStore(
            database.address, connections: connections,
            wrapping: MasterKey(at: "\(folder.path)/authority.key"))
    }
}

extension House {
    /// The store of a house that has a file.
    var file: SQLiteAuthorityStore {
        get throws {
            guard let file = store as? SQLiteAuthorityStore else { throw NotThat() }
            return file
        }
    }
}
