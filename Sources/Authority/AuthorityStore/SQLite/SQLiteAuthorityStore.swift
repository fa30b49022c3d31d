package import AuthorityCore
import GRDB
package import Sessions

/// The records of an authority in one SQLite file: WAL, each commit synced, foreign keys on.
///
/// Readers do not wait for the writer. Writes that wait together are committed together, in one
/// IMMEDIATE transaction. So two writes never run at the same time, even if they are in different
/// processes.
package final class SQLiteAuthorityStore: ServiceStore {
    let pool: DatabasePool
    let group: CommitGroup
    let wrapping: any SecretWrapping

    /// Opens the file at `path`, and makes the tables if it has none.
    ///
    /// - Throws: `failed(layer: "store")` if the file is not a database, `failed(layer: "schema")`
    ///   if its tables have another version. In both cases nothing was changed.
    package init(path: String, wrapping: any SecretWrapping) throws(AuthorityError) {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        do {
            pool = try DatabasePool(path: path, configuration: configuration)
            let isMade = try pool.read { database in
                try Schema.isMade(in: SQLiteRunner(database: database), at: path)
            }
            if !isMade {
                try pool.write { database in
                    try Schema.make(in: SQLiteRunner(database: database), at: path)
                }
            }
        } catch {
            throw storeFailure(error)
        }
        self.wrapping = wrapping
        group = CommitGroup(pool, wrapping)
    }

    package func transact<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try await group.run(body)
    }

    package var isDiskFull: Bool { group.isDiskFull }

    package func read<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try await look { transaction throws(AuthorityError) in try body(transaction) }
    }

    func look<R: Sendable>(
        _ body: @escaping @Sendable (StoreTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        do {
            return try await pool.read { [wrapping] database in
                try body(StoreTransaction(database, wrapping))
            }
        } catch {
            throw storeFailure(error)
        }
    }

    /// Always succeeds: only one process serves from a file, and it holds the file's folder.
    package func hold(_ name: String) async throws(AuthorityError) -> (any StoreHold)? {
        UncontestedHold()
    }

    /// Closes the file; later calls throw.
    package func close() throws(AuthorityError) {
        do {
            // The last connection to close may be a reader, which cannot empty the log, so empty it
            // here. If somebody still reads, the log stays, and the next opening takes it over.
            _ = Result { try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
            try pool.close()
        } catch {
            throw storeFailure(error)
        }
    }
}

/// Wraps secrets, so that the file alone does not show them. `place` names the row and column: a
/// secret that is wrapped for one place cannot be unwrapped at another.
package protocol SecretWrapping: Sendable {
    func wrap(_ secret: SecretBytes, place: String) throws(AuthorityError) -> [UInt8]
    func unwrap(_ bytes: [UInt8], place: String) throws(AuthorityError) -> SecretBytes
    /// Whether the public half and the name of a key in use belong to its private half. True for a
    /// secret without a public half.
    func isWhole(_ key: KeyRecord) -> Bool
}

/// Passes an `AuthorityError` on unchanged, and reports a SQLite error without the statement's
/// values.
package func storeFailure(_ error: any Error) -> AuthorityError {
    if let error = error as? AuthorityError { return error }
    guard let error = error as? DatabaseError else {
        return .failed(layer: "store", text: "the database failed for an unknown reason")
    }
    // The index of SQLite's log has an error of its own if the disk has no room for it.
    let isFull = error.resultCode == .SQLITE_FULL
        || error.extendedResultCode == .SQLITE_IOERR_SHMSIZE
    return .failed(
        layer: isFull ? AuthorityError.diskFull : "store",
        text: "SQLite \(error.resultCode.rawValue): \(error.message ?? "unnamed")")
}
