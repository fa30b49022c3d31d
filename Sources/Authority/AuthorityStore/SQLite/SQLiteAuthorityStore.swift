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

    /// Opens or makes the file at `path` and brings its schema up to date.
    ///
    /// Each step of an upgrade is one transaction: after a power cut the next opening goes on
    /// with the step that was not done.
    ///
    /// - Throws: `failed(layer: "store")` if it is not a database of this program,
    ///   `failed(layer: "schema")` if a later version of it wrote it, `failed(layer:
    ///   Departure.layer)` if its records are elsewhere; then nothing was changed.
    package init(path: String, wrapping: any SecretWrapping) throws(AuthorityError) {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        do {
            pool = try DatabasePool(path: path, configuration: configuration)
            let migrator = Schema.migrator
            let later = try pool.read(migrator.appliedIdentifiers)
                .subtracting(migrator.migrations).sorted()
            guard later.isEmpty else {
                throw AuthorityError.failed(layer: "schema", text: """
                    a later version of this program wrote \(path): it has \
                    \(later.map { "`\($0)`" }.joined(separator: ", ")), unknown to this one; \
                    install that version again
                    """)
            }
            try Self.requireInPlace(pool, path)
            try migrator.migrate(pool)
        } catch {
            throw storeFailure(error)
        }
        self.wrapping = wrapping
        group = CommitGroup(pool, wrapping)
    }

    /// Nobody serves from records that have gone elsewhere: boards would be told of a past.
    private static func requireInPlace(_ pool: DatabasePool, _ path: String) throws {
        let departure = try pool.read { database in
            // A new file has no tables yet.
            try database.tableExists("times")
                ? Departure.read(SQLiteRunner(database: database)) : nil
        }
        if let departure { throw departure.failure(of: path) }
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
    // Our own words, said by a trigger.
    if error.extendedResultCode == .SQLITE_CONSTRAINT_TRIGGER, let text = error.message {
        return .failed(layer: "store", text: text)
    }
    return .failed(
        layer: "store",
        text: "SQLite \(error.resultCode.rawValue): \(error.message ?? "unnamed")")
}
