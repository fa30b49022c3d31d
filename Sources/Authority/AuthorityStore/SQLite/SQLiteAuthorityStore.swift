package import AuthorityCore
import GRDB
package import Sessions

/// An authority's records in one SQLite file: WAL, each commit synced, foreign keys on.
///
/// Readers do not wait for the writer. Writes that wait together are committed together, in
/// one IMMEDIATE transaction, so of two at once one runs after the other, whichever process
/// they are in.
package final class SQLiteAuthorityStore: ServiceStore {
    let pool: DatabasePool
    let group: CommitGroup
    let wrapping: any SecretWrapping

    /// Opens the file at `path`, and makes its tables where it has none.
    ///
    /// - Throws: `failed(layer: "store")` if it is no database, `failed(layer: "schema")` if its
    ///   tables have another version; then nothing was changed.
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

    /// One process serves from a file, and holds its folder.
    package func hold(_ name: String) async throws(AuthorityError) -> (any StoreHold)? {
        UncontestedHold()
    }

    /// Closes the file; later calls throw.
    package func close() throws(AuthorityError) {
        do {
            // The last connection to go may be a reader, which cannot put the log away. Where
            // somebody reads still, it stays, and the next opening takes it over.
            _ = Result { try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
            try pool.close()
        } catch {
            throw storeFailure(error)
        }
    }
}

/// Keeps secrets from being read in the file alone. `place` names the row and column, so that
/// what is wrapped for one is no use in another.
package protocol SecretWrapping: Sendable {
    func wrap(_ secret: SecretBytes, place: String) throws(AuthorityError) -> [UInt8]
    func unwrap(_ bytes: [UInt8], place: String) throws(AuthorityError) -> SecretBytes
    /// Whether public half and name of a key in use are those of its private half; true for a
    /// secret without a public half.
    func isWhole(_ key: KeyRecord) -> Bool
}

/// An error of the core as it is, one of SQLite without the values of the statement.
func storeFailure(_ error: any Error) -> AuthorityError {
    if let error = error as? AuthorityError { return error }
    guard let error = error as? DatabaseError else {
        return .failed(layer: "store", text: "the database did not do as it was asked")
    }
    return .failed(
        layer: "store",
        text: "SQLite \(error.resultCode.rawValue): \(error.message ?? "unnamed")")
}
