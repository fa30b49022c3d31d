package import AuthorityCore
import GRDB

/// A store in one file of SQLite that nobody serves from: what a backup of any store is.
package struct StoreFile: Sendable {
    package let path: String

    package init(path: String) { self.path = path }

    /// How much is in it, to be told and to be compared.
    package struct Content: Equatable, Sendable {
        package let users: Int
        package let boards: Int
        /// Those that live.
        package let sessions: Int
        package let entries: Int
    }

    /// Writes what a store's file holds at this moment into `target`, which is empty or not
    /// there. Whoever serves from the file goes on; it is one view, of one commit, and nothing
    /// that was deleted is in it. Not yet synced when it returns.
    ///
    /// It reads a snapshot beside the writer. Until it is done SQLite's log grows by what is
    /// written meanwhile.
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

    /// Looks it through: every page, every constraint and every reference.
    ///
    /// - Throws: `failed(layer: "store")` for what is no store, or a damaged one,
    ///   `failed(layer: "schema")` for one that a later version of this program wrote.
    package func verify() throws(AuthorityError) -> Content {
        var configuration = Configuration()
        configuration.readonly = true
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let content = try queue.read(Self.verified)
            try queue.close()
            return content
        } catch {
            throw storeFailure(error)
        }
    }

    private static func verified(_ database: Database) throws -> Content {
        guard try database.tableExists("grdb_migrations"), try database.tableExists("sessions")
        else {
            throw AuthorityError.failed(layer: "store", text: "it is no authority's store")
        }
        guard try !Schema.migrator.hasBeenSuperseded(database) else {
            throw AuthorityError.failed(
                layer: "schema", text: "a later version of this program wrote it")
        }
        let damage = try String.fetchAll(database, sql: "PRAGMA integrity_check(3)")
            .filter { $0 != "ok" }
        guard damage.isEmpty else {
            throw AuthorityError.failed(layer: "store", text: damage.joined(separator: "; "))
        }
        guard try Row.fetchOne(database, sql: "PRAGMA foreign_key_check") == nil else {
            throw AuthorityError.failed(
                layer: "store", text: "a row of it names another that is not there")
        }
        func count(_ sql: String) throws -> Int { try Int.fetchOne(database, sql: sql) ?? 0 }
        return Content(
            users: try count("SELECT count(*) FROM users"),
            boards: try count("SELECT count(*) FROM boards"),
            sessions: try count("SELECT count(*) FROM sessions WHERE state = 'active'"),
            entries: try count("SELECT count(*) FROM audit"))
    }

    /// Carries the log into the file, so that the file alone is all of it. To be called while
    /// nobody serves from it.
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
}
