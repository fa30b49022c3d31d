#if PostgreSQL
import Foundation
import PostgreSQLStore
import PostgresServers
import Sessions
import Synchronization

/// A database of its own on the server of this test process, gone with its owner.
final class TestDatabase: Sendable {
    let name: String
    let address: PostgresAddress
    private let server: PostgresServer

    private static let number = Atomic(0)

    init(on server: PostgresServer) throws {
        self.server = server
        name = "house\(Self.number.add(1, ordering: .relaxed).newValue)"
        try Self.run("CREATE DATABASE \(name)", on: server)
        address = try PostgresAddress(uri: server.uri(name), password: nil)
    }

    deinit {
        let (name, server) = (name, server)
        // Whoever made it need not wait for that, nor be able to.
        DispatchQueue.global().async {
            do {
                try Self.run("DROP DATABASE \(name) WITH (FORCE)", on: server)
            } catch {
                print("\(name) stays until the server goes: \(error)")
            }
        }
    }

    private static func run(_ sql: String, on server: PostgresServer) throws {
        var limits = PostgresLimits()
        // It takes as long as the disk does.
        limits.statement = .zero
        let connection = try PostgresConnection(
            PostgresAddress(uri: server.uri(), password: nil), limits: limits)
        _ = try connection.change(sql)
    }
}
#endif
