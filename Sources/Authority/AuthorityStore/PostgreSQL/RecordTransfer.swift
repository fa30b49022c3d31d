package import AuthorityCore
import PostgreSQLClient

/// Copies all records at once, from the database into a file or from a file into the database.
extension PostgreSQLAuthorityStore {
    /// Copies the records into a file that is empty or does not exist. Returns the number of rows
    /// of each table. It reads one REPEATABLE READ view; replicas keep working meanwhile.
    package func save(to file: StoreFile) async throws(AuthorityError) -> [String: Int] {
        try await transfer(.repeatableRead, readOnly: true) { runner throws(AuthorityError) in
            try file.fill(from: runner)
        }
    }

    /// Copies the records of a file into this empty database: all of them or none. If two copies
    /// run at once, one is kept. If the connection is lost during the commit, the error says so: a
    /// second try finds the records if they were kept.
    package func take(_ file: StoreFile) async throws(AuthorityError) -> [String: Int] {
        try await transfer(.serializable, readOnly: false) { runner throws(AuthorityError) in
            try file.pour(into: runner)
        }
    }

    /// One transaction, run once.
    private func transfer(
        _ isolation: PostgresConnection.Isolation, readOnly: Bool,
        _ body: @escaping @Sendable (PostgreSQLRunner) throws(AuthorityError) -> [String: Int]
    ) async throws(AuthorityError) -> [String: Int] {
        let outcome: Result<[String: Int], AuthorityError>
        do throws(PostgresError) {
            outcome = try await pool.run { connection throws(AuthorityError) in
                do throws(AuthorityError) {
                    return try Self.transfer(isolation, readOnly, connection, body)
                } catch {
                    connection.rollback()
                    throw error
                }
            }
        } catch {
            throw error.authorityError
        }
        return try outcome.get()
    }

    private static func transfer(
        _ isolation: PostgresConnection.Isolation, _ readOnly: Bool,
        _ connection: PostgresConnection,
        _ body: (PostgreSQLRunner) throws(AuthorityError) -> [String: Int]
    ) throws(AuthorityError) -> [String: Int] {
        do throws(PostgresError) {
            try connection.begin(isolation, readOnly: readOnly)
        } catch {
            throw error.authorityError
        }
        let counts = try body(PostgreSQLRunner(connection))
        do throws(PostgresError) { try connection.commit() } catch { throw error.authorityError }
        return counts
    }
}
