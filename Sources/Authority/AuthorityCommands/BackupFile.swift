import AuthorityCore
import AuthorityService
import AuthorityStore
import LinuxIO
import Sessions
import Wire

/// A backup: a store in one file, with an optional second file for its master key.
struct BackupFile {
    let path: String

    /// Calls `fill` to write a store into a temporary file that only this user can read. Then it
    /// verifies the file, and moves it durably to `path`. An existing backup stays until that
    /// moment.
    ///
    /// - Throws: `BackupError.exists` if there is such a file and `replaces` is false.
    func write(
        replaces: Bool, _ fill: (String) async throws -> Void
    ) async throws -> StoreFile.Content {
        guard replaces || !PrivateFile.isThere(path) else { throw BackupError.exists(path) }
        let unfinished = "\(path).unfinished"
        try PrivateFile.remove(unfinished)
        do {
            _ = try NewPrivateFile(unfinished)
            try await fill(unfinished)
            let content = try StoreFile(path: unfinished).verify()
            try PrivateFile.sync(unfinished)
            guard replaces || !PrivateFile.isThere(path) else { throw BackupError.exists(path) }
            try PrivateFile.move(unfinished, to: path)
            return content
        } catch {
            try? PrivateFile.remove(unfinished)
            throw error
        }
    }

    /// Verifies the backup, and that the master key at `key` unwraps its secrets.
    func verify(key: String) throws -> StoreFile.Content {
        try PrivateFile.check(path)
        let content = try StoreFile(path: path).verify()
        let found = try StoreExamination(path: path, wrapping: try MasterKey(at: key))
        if let fault = found.keyFault { throw BackupError.otherKey(fault) }
        return content
    }
}

enum BackupError: Error, Equatable, CustomStringConvertible {
    case exists(String)
    /// The key does not open the backup.
    case otherKey(String)
    /// Another key is in place already.
    case keyInPlace(String)
    case usage(String)

    var description: String {
        switch self {
        case .exists(let path): "\(path) exists already; use --replace to overwrite it"
        case .otherKey(let fault): "this master key does not open the backup: \(fault)"
        case .keyInPlace(let path):
            "\(path) is not the backup's master key; nothing was changed. To use the backup's key, "
                + "move that file away first"
        case .usage(let text): text
        }
    }
}

extension StoreFile.Content {
    var words: String {
        "\(users) users, \(boards) boards, \(sessions) live sessions, \(entries) audit entries"
    }

    var json: [String: JSONValue] {
        [
            "users": .integer(Int64(users)), "boards": .integer(Int64(boards)),
            "sessions": .integer(Int64(sessions)), "auditEntries": .integer(Int64(entries)),
        ]
    }
}
