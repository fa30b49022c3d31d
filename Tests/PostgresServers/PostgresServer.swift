import Foundation
import FreePorts
import Glibc
import Synchronization

/// A PostgreSQL of the tests' own, from Debian's package, in a temporary folder: on a Unix
/// socket without a password, and on a free port of loopback with one.
///
/// It ends with its owner, and with the tests' process however that ends; no file stays.
package final class PostgresServer: Sendable {
    package static let user = "postern"
    package static let password = "not a secret of anyone"

    /// Whether the package `postgresql` is installed.
    package static var isInstalled: Bool { ServerPrograms.newest != nil }

    /// One for the whole process, without fsync, for tests that want a database and no more.
    package static func shared() async throws -> PostgresServer { try await common.value }

    private static let common = Task { try await PostgresServer() }

    /// A socket's path has at most 107 bytes.
    package let folder: String
    package let port: UInt16
    private let programs: ServerPrograms
    private let keeper: ServerKeeper
    private let databases = Atomic(0)

    /// Makes an empty cluster and starts it.
    ///
    /// - Parameters:
    ///   - isDurable: whether a commit is on the disk when the server says so; else it is as
    ///     fast as can be, and an outage may lose it.
    ///   - settings: lines for `postgresql.conf`, where `FOLDER` stands for the folder.
    ///   - prepare: puts files into the folder before the server reads them.
    package init(
        isDurable: Bool = false, settings: [String] = [],
        prepare: (String) async throws -> Void = { _ in }
    ) async throws {
        guard let programs = ServerPrograms.newest else {
            throw ServerFailure("PostgreSQL is not installed: apt-get install postgresql")
        }
        self.programs = programs
        folder = FileManager.default.temporaryDirectory.path + "/pg-\(UUID().uuidString.prefix(13))"
        port = try FreePort.next()
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        keeper = try ServerKeeper(folder: folder)
        try Self.password.write(toFile: folder + "/password", atomically: false, encoding: .utf8)
        try await prepare(folder)
        try await programs.own(folder)
        try await programs.run("initdb", [
            "-D", folder + "/data", "-U", Self.user, "--auth-local=trust", "-E", "UTF8",
            "--auth-host=scram-sha-256", "--pwfile=\(folder)/password", "--locale=C", "--no-sync",
        ], in: folder)
        let text = (standing(isDurable) + settings).joined(separator: "\n")
            .replacing("FOLDER", with: folder) + "\n"
        try text.write(
            toFile: folder + "/data/postgresql.auto.conf", atomically: false, encoding: .utf8)
        try await start()
    }

    private func standing(_ isDurable: Bool) -> [String] {
        [
            "listen_addresses = '127.0.0.1'", "port = \(port)", "max_connections = 250",
            "unix_socket_directories = 'FOLDER'", "shared_buffers = 32MB",
            "fsync = \(isDurable ? "on" : "off")", "timezone = 'UTC'",
            "full_page_writes = \(isDurable ? "on" : "off")",
        ]
    }

    /// Starts it and waits until it takes connections.
    package func start() async throws {
        try await programs.run("pg_ctl", [
            "start", "-s", "-w", "-t", "60", "-D", folder + "/data", "-l", folder + "/log",
        ], in: folder)
    }

    /// How the server is stopped.
    package enum Stop: String, Sendable {
        /// Ends connections, writes everything, and goes.
        case fast
        /// Goes at once, as in a crash; recovers at the next start.
        case immediate
    }

    package func stop(_ manner: Stop = .fast) async throws {
        try await programs.run("pg_ctl", [
            "stop", "-s", "-w", "-t", "60", "-D", folder + "/data", "-m", manner.rawValue,
        ], in: folder)
    }

    package func restart(_ manner: Stop = .fast) async throws {
        try await stop(manner)
        try await start()
    }

    /// The URI of a new and empty database, over the Unix socket.
    package func newDatabase() async throws -> String {
        let name = "db\(databases.add(1, ordering: .relaxed).newValue)"
        try await query("CREATE DATABASE \(name)")
        return uri(name)
    }

    /// Over the Unix socket, as a superuser, without a password.
    package func uri(_ database: String = "postgres") -> String {
        "postgres://\(Self.user)@/\(database)?host=\(folder)&port=\(port)"
    }

    /// Over TCP, with `password`; `options` follow the question mark.
    package func tcpURI(
        _ database: String = "postgres", host: String = "127.0.0.1", options: String = ""
    ) -> String {
        "postgres://\(Self.user)@\(host):\(port)/\(database)?\(options)"
    }

    /// Runs statements by `psql` and returns what it prints, without headings.
    @discardableResult
    package func query(_ sql: String, database: String = "postgres") async throws -> String {
        try await programs.run("psql", [
            "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", folder, "-p", "\(port)",
            "-U", Self.user, "-d", database, "-c", sql,
        ], in: folder)
    }

    /// What it has logged.
    package var log: String {
        (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
    }
}

package struct ServerFailure: Error, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
