import Foundation
import Glibc

/// The programs of one version of PostgreSQL, run as a user that they bear with.
struct ServerPrograms: Sendable {
    private let folder: String

    /// The newest that Debian's packages have installed.
    static let newest: ServerPrograms? = {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap(Int.init).sorted(by: >)
            .map { "\(root)/\($0)/bin" }
            .first { FileManager.default.isExecutableFile(atPath: $0 + "/initdb") }
            .map(ServerPrograms.init)
    }()

    private init(folder: String) {
        self.folder = folder
    }

    /// PostgreSQL refuses to run as root; the package has made it a user.
    private var isRoot: Bool { geteuid() == 0 }

    /// Gives a folder and what is in it to the user that the programs run as.
    func own(_ path: String) async throws {
        guard isRoot else { return }
        try await Self.run("/usr/bin/chown", ["-R", "postgres:postgres", path], in: path)
    }

    /// Runs a program to its end and returns its output, which lies in `room` meanwhile.
    @discardableResult
    func run(
        _ program: String, _ arguments: [String], in room: String
    ) async throws -> String {
        let path = "\(folder)/\(program)"
        guard isRoot else { return try await Self.run(path, arguments, in: room) }
        return try await Self.run("/usr/bin/setpriv", [
            "--reuid=postgres", "--regid=postgres", "--clear-groups", path,
        ] + arguments, in: room)
    }

    /// Its output goes to a file: a server that it leaves behind would keep a pipe open.
    @discardableResult
    private static func run(
        _ path: String, _ arguments: [String], in room: String
    ) async throws -> String {
        let place = "\(room)/output-\(UUID().uuidString)"
        defer { _ = unsafe unlink(place) }
        let status = try await Spawned(path, arguments, output: place).end()
        let text = (try? String(contentsOfFile: place, encoding: .utf8)) ?? ""
        guard status == 0 else {
            let name = arguments.first { $0.hasPrefix("/usr/lib/postgresql") } ?? path
            throw ServerFailure("\(name) ended with \(status): \(text)")
        }
        return text.trimmingCharacters(in: .newlines)
    }
}
