package import AuthorityCore
import GRDB

/// A store in one SQLite file that no service uses. Every backup has this form.
package struct StoreFile: Sendable {
    package let path: String

    package init(path: String) { self.path = path }

    /// Counts of the content, to print and to compare.
    package struct Content: Equatable, Sendable {
        package let users: Int
        package let boards: Int
        /// Active sessions only.
        package let sessions: Int
        package let entries: Int
    }

    /// Copies the current content of the file into `target`, which is empty or does not exist.
    /// Services can go on using the file. The copy shows one commit and has no deleted data. It is
    /// not yet synced on return.
    ///
    /// The copy reads a snapshot beside the writer. Until it ends, SQLite's log grows by each
    /// write.
    ///
    /// Source: SQLite, `VACUUM INTO`; "Write-Ahead Logging", Concurrency.
    package func copy(to target: String) throws(AuthorityError) {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(10)
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.vacuum(into: target)
            try queue.close()
        } catch {
            throw storeFailure(error)
        }
    }

    /// Checks every page, every constraint and every reference.
    ///
    /// - Throws: `failed(layer: "store")` if the file is not a store or is damaged, `failed(layer:
    ///   "schema")` if its tables have another version.
    package func verify() throws(AuthorityError) -> Content {
        try look(verified)
    }

    private func verified(_ database: Database) throws -> Content {
        guard try Schema.isMade(in: SQLiteRunner(database: database), at: path) else {
            throw AuthorityError.failed(
                layer: "store", text: "\(path) is not an authority's store")
        }
        let damage = try String.fetchAll(database, sql: "PRAGMA integrity_check(3)")
            .filter { $0 != "ok" }
        guard damage.isEmpty else {
            throw AuthorityError.failed(layer: "store", text: damage.joined(separator: "; "))
        }
        guard try Row.fetchOne(database, sql: "PRAGMA foreign_key_check") == nil else {
            throw AuthorityError.failed(
                layer: "store", text: "a row refers to a row that does not exist")
        }
        func count(_ sql: String) throws -> Int { try Int.fetchOne(database, sql: sql) ?? 0 }
        return Content(
            users: try count("SELECT count(*) FROM users"),
            boards: try count("SELECT count(*) FROM boards"),
            sessions: try count("SELECT count(*) FROM sessions WHERE state = 'active'"),
            entries: try count("SELECT count(*) FROM audit"))
    }

    /// Writes the log into the file, so that the file alone is complete. Call it only while no
    /// service uses the file.
    ///
    /// Source: SQLite, `PRAGMA wal_checkpoint`.
    package func settle() throws(AuthorityError) {
        do {
            let pool = try DatabasePool(path: path)
            _ = try pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
            try pool.close()
        } catch {
            throw storeFailure(error)
        }
    }

    /// Copies the content into another, empty store.
    func pour(into target: any SQLRunner) throws(AuthorityError) -> [String: Int] {
        try look { try StoreCopy.run(from: SQLiteRunner(database: $0), to: target) }
    }

    /// Makes the file a store and copies into it all rows of `source`. The file is empty or does
    /// not exist.
    func fill(from source: any SQLRunner) throws(AuthorityError) -> [String: Int] {
        do {
            let queue = try DatabaseQueue(path: path)
            let counts = try queue.write { database in
                let target = SQLiteRunner(database: database)
                try Schema.make(in: target, at: path)
                return try StoreCopy.run(from: source, to: target)
            }
            try queue.close()
            return counts
        } catch {
            throw storeFailure(error)
        }
    }

    private func look<R>(_ body: (Database) throws -> R) throws(AuthorityError) -> R {
        var configuration = Configuration()
        configuration.readonly = true
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let found = try queue.read(body)
            try queue.close()
            return found
        } catch {
            throw storeFailure(error)
        }
    }
}
