package import AuthorityCore
import AuthorityStore
import GRDB
import Synchronization

/// The records of boards in one SQLite file: WAL, each commit synced. Readers do not wait for the
/// writer.
///
/// Only one process may write to the file: it remembers what the file holds.
package final class SQLiteDataStore: DataStore {
    let pool: DatabasePool
    let path: String
    private let cache = Mutex(TableCache())

    /// Opens the file at `path`, and makes the tables if it has none.
    ///
    /// - Throws: `failed(layer: "store")` if the file is not a database, `failed(layer: "schema")`
    ///   if its tables have another version. In both cases nothing was changed.
    package init(path: String) throws(AuthorityError) {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { database in
            try database.execute(sql: """
                PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000;
                PRAGMA cache_size = -16000
                """)
        }
        self.path = path
        do {
            pool = try DatabasePool(path: path, configuration: configuration)
            try pool.writeWithoutTransaction { try DataSchema.make(in: $0, at: path) }
        } catch {
            throw storeFailure(error)
        }
    }

    package func keep(_ records: [OwnedRecord]) async throws(AuthorityError) -> KeepCount {
        guard !records.isEmpty else { return KeepCount() }
        return try await write { tables throws(AuthorityError) in
            try KeepBatch(tables: tables).run(records)
        }
    }

    /// Runs `body` in one synced transaction. If it fails, what is remembered of the tables may be
    /// wrong, and is forgotten.
    func write<R: Sendable>(
        _ body: @escaping @Sendable (SQLiteTables) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        do {
            return try await pool.writeWithoutTransaction { [self] database in
                let tables = SQLiteTables(database, cache.withLock { cache in
                    defer { cache = TableCache() }
                    return cache
                })
                var result: R?
                try database.inTransaction(.immediate) {
                    result = try body(tables)
                    return .commit
                }
                tables.cache.shrink()
                cache.withLock { $0 = tables.cache }
                guard let result else { throw damagedData("commit") }
                return result
            }
        } catch {
            throw storeFailure(error)
        }
    }

    func read<R: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> R
    ) async throws(AuthorityError) -> R {
        do {
            return try await pool.read(body)
        } catch {
            throw storeFailure(error)
        }
    }

    /// Closes the file; later calls throw.
    package func close() throws(AuthorityError) {
        do {
            // Empty the log here: see `SQLiteAuthorityStore.close`.
            _ = Result { try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
            try pool.close()
        } catch {
            throw storeFailure(error)
        }
    }
}
