import AuthorityStore
import PostgreSQLClient
import PostgresServers
import Sessions
import Synchronization

/// An empty database on the server of this test process, gone with that.
final class TestDatabase: Sendable {
    /// What a house needs of PostgreSQL for itself.
    enum Room {
        /// Tables: made in a hundredth of the time, so most tests take one.
        case schema
        /// All that a database keeps apart from others: rights, channels, locks.
        case database
    }

    let name: String
    let uri: String
    let address: PostgresAddress

    private static let number = Atomic(0)

    init(_ room: Room = .database, on server: PostgresServer) throws {
        name = "house\(Self.number.add(1, ordering: .relaxed).newValue)"
        var limits = PostgresLimits()
        // It takes as long as the disk does.
        limits.statement = .zero
        let connection = try PostgresConnection(
            PostgresAddress(uri: server.uri(), password: nil), limits: limits)
        switch room {
        case .schema:
            _ = try connection.change("CREATE SCHEMA \(name)")
            uri = "\(server.uri())&options=-csearch_path%3D\(name)"
        case .database:
            _ = try connection.change("CREATE DATABASE \(name)")
            uri = server.uri(name)
        }
        address = try PostgresAddress(uri: uri, password: nil)
    }
}
