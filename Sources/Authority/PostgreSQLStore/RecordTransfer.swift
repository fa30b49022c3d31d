package import AuthorityCore
package import AuthorityStore

/// All records at once, out of the database into a file and from a file into the database.
extension PostgreSQLAuthorityStore {
    /// Copies the records into a file that is empty or not there, and returns how many rows each
    /// table has. One REPEATABLE READ view; replicas go on meanwhile.
    package func save(to file: StoreFile) async throws(AuthorityError) -> [String: Int] {
        try await transfer(.repeatableRead, readOnly: true) { runner throws(AuthorityError) in
            try file.fill(from: runner)
        }
    }

    /// Copies the records of a file into this database, which is empty: all of them or none. Of
    /// two at once one is kept. If the connection is lost during the commit, the error says so: a
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
