package import AuthorityCore
package import AuthorityStore
package import Sessions
import Synchronization

/// All records at once, out of the database into a file and from a file into the database.
extension PostgreSQLAuthorityStore: TransferableStore {
    /// One REPEATABLE READ view; those who serve go on meanwhile.
    package func save(to file: StoreFile) async throws(AuthorityError) -> [String: Int] {
        try await transfer(isReading: true) { runner throws(AuthorityError) in
            try file.fill(from: runner)
        }
    }

    /// One transaction, into tables that are empty. Where its commit was cut short the database
    /// is asked for a minute what became of it; throws `failed(layer: StoreFile.unknownOutcome)`
    /// where that cannot be learnt, and while another transfer into this database goes on.
    ///
    /// Source: PostgreSQL, 9.27 "Transaction ID and Snapshot Information Functions",
    /// `pg_xact_status`.
    package func take(_ file: StoreFile) async throws(AuthorityError) -> [String: Int] {
        let number = TransactionNumber()
        do {
            return try await transfer(isReading: false) { runner throws(AuthorityError) in
                try Self.requireAlone(runner)
                let counts = try file.pour(into: runner)
                number.note(try Self.number(of: runner), counts)
                return counts
            }
        } catch {
            guard let (xid, counts) = number.atCommit else { throw error }
            switch await fate(of: xid) {
            case "committed"?: return counts
            case "aborted"?: throw error
            default: throw StoreFile.unknown
            }
        }
    }

    /// A transfer whose connection was lost may still go on in the server.
    static func requireAlone(_ runner: PostgreSQLRunner) throws(AuthorityError) {
        let rows = try runner.rows(
            "SELECT pg_try_advisory_xact_lock(hashtext('postern transfer'))::int::bigint AS got",
            [])
        guard case .integer(1)? = rows.first?["got"] else { throw StoreFile.unknown }
    }

    private static func number(
        of runner: PostgreSQLRunner
    ) throws(AuthorityError) -> String? {
        let row = try runner.rows("SELECT pg_current_xact_id()::text AS id", []).first
        guard case .text(let number)? = row?["id"] else { return nil }
        return number
    }

    /// `committed` or `aborted`; anything else after a minute in which neither was said.
    private func fate(of xid: String) async -> String? {
        let end = ContinuousClock.now + .seconds(60)
        while true {
            let found = try? await pool.run { connection throws(PostgresError) in
                try connection.query(
                    "SELECT pg_xact_status(CAST($1::text AS xid8)) AS fate", [.text(xid)]
                ).first
            }.get()
            if case .text(let fate)? = found?["fate"], fate != "in progress" { return fate }
            guard ContinuousClock.now < end else { return nil }
            do { try await Task.sleep(for: .milliseconds(250)) } catch { return nil }
        }
    }

    package func counts() async throws(AuthorityError) -> [String: Int] {
        try await transfer(isReading: true) { runner throws(AuthorityError) in
            try StoreCopy.counts(runner)
        }
    }

    package func takenAt() async throws(AuthorityError) -> Timestamp? {
        let row: SQLRow?
        do throws(PostgresError) {
            row = try await pool.run { connection throws(PostgresError) in
                try connection.query("SELECT at FROM times WHERE name = 'migrated'").first
            }.get()
        } catch {
            throw error.authorityError
        }
        guard case .integer(let time)? = row?["at"] else { return nil }
        return Timestamp(milliseconds: time)
    }

    /// What is asked for where nobody knows whether a commit stands.
    private final class TransactionNumber: Sendable {
        private let held = Mutex<(String, [String: Int])?>(nil)

        /// All is written; what fails from here on fails in the commit.
        func note(_ number: String?, _ counts: [String: Int]) {
            held.withLock { $0 = number.map { ($0, counts) } }
        }

        var atCommit: (String, [String: Int])? { held.withLock { $0 } }
    }

    private func transfer(
        isReading: Bool,
        _ body: @escaping @Sendable (PostgreSQLRunner) throws(AuthorityError) -> [String: Int]
    ) async throws(AuthorityError) -> [String: Int] {
        try await wholly(isReading ? .repeatableRead : .serializable, readOnly: isReading, body)
    }

    /// One transaction, run once.
    func wholly<R: Sendable>(
        _ isolation: PostgresConnection.Isolation, readOnly: Bool = false,
        _ body: @escaping @Sendable (PostgreSQLRunner) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let outcome: Result<R, AuthorityError>
        do throws(PostgresError) {
            outcome = try await pool.run { connection throws(AuthorityError) in
                try Self.wholly(isolation, readOnly, connection, body)
            }
        } catch {
            throw error.authorityError
        }
        return try outcome.get()
    }

    private static func wholly<R: Sendable>(
        _ isolation: PostgresConnection.Isolation, _ readOnly: Bool,
        _ connection: PostgresConnection,
        _ body: (PostgreSQLRunner) throws(AuthorityError) -> R
    ) throws(AuthorityError) -> R {
        let runner = PostgreSQLRunner(connection)
        let result: Result<R, AuthorityError>
        do throws(PostgresError) {
            try connection.begin(isolation, readOnly: readOnly)
            result = Result { () throws(AuthorityError) in try body(runner) }
            if let failure = runner.failure { throw failure }
            if case .success = result, !readOnly {
                try connection.commit()
            } else {
                connection.rollback()
            }
        } catch {
            connection.rollback()
            throw error.authorityError
        }
        return try result.get()
    }
}
