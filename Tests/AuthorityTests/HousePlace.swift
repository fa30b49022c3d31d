import AuthorityCore
import AuthorityStore

@testable import AuthorityService

#if PostgreSQL
import PostgreSQLStore
import PostgresServers
#endif

/// Where a house's records are, for as many stores as a test wants on them.
struct HousePlace: Sendable {
    let folder: TemporaryFolder
    #if PostgreSQL
    /// Nil for a file.
    let database: TestDatabase?
    #endif

    init(_ kind: StoreKind) throws {
        folder = try TemporaryFolder()
        try MasterKey.make(at: "\(folder.path)/authority.key")
        #if PostgreSQL
        database = kind == .postgreSQL ? try TestDatabase(on: .shared()) : nil
        #endif
    }

    #if PostgreSQL
    init(_ database: TestDatabase) throws {
        folder = try TemporaryFolder()
        try MasterKey.make(at: "\(folder.path)/authority.key")
        self.database = database
    }
    #endif

    func open() async throws -> any ServiceStore {
        #if PostgreSQL
        if database != nil { return try await openDatabase() }
        #endif
        return try openFile()
    }

    /// The file, where it is one.
    func openFile() throws -> SQLiteAuthorityStore {
        try SQLiteAuthorityStore(
            path: "\(folder.path)/authority.db",
            wrapping: MasterKey(at: "\(folder.path)/authority.key"))
    }

    #if PostgreSQL
    func openDatabase(connections: Int = 8) async throws -> PostgreSQLAuthorityStore {
        guard let database else { throw NotThat() }
        return try await PostgreSQLAuthorityStore(
            database.address, connections: connections,
            wrapping: MasterKey(at: "\(folder.path)/authority.key"))
    }
    #endif
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
