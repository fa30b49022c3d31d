import AuthorityCore
import AuthorityData
import PostgreSQLClient
import PostgresServers

/// The stores that every test of the behaviour runs on.
enum Stores: String, CaseIterable, Sendable {
    case sqlite
    case postgreSQL

    /// Those whose database is installed.
    static let all = PostgresServer.isInstalled ? allCases : [.sqlite]

    func make() async throws -> OpenStore {
        switch self {
        case .sqlite:
            let folder = try Folder()
            return OpenStore(try SQLiteDataStore(path: folder.file), folder)
        case .postgreSQL:
            let server = try await PostgresServer.shared()
            let address = try PostgresAddress(uri: await server.newDatabase(), password: nil)
            return OpenStore(PostgreSQLDataStore(address), server)
        }
    }
}
