import AuthorityCore
import PostgreSQLClient

/// Makes the tables of an empty database, and checks the database. Several processes may do this at
/// the same time.
struct DatabaseOpening {
    let connection: PostgresConnection
    /// The name of the database, for messages.
    let place: String

    /// Any number that nothing else in this database locks.
    private static let lock: Int64 = 0x706F_7374_6572_6E01

    /// - Throws: `failed(layer: "schema")` if its tables have another version. Then nothing was
    ///   changed.
    func run() throws(AuthorityError) {
        do throws(PostgresError) { try checkEncoding() } catch { throw error.openingError }
        let runner = PostgreSQLRunner(connection)
        do throws(AuthorityError) {
            if try !Schema.isMade(in: runner, at: place) { try make() }
        } catch {
            throw runner.failure?.openingError ?? error
        }
        do throws(PostgresError) { try liftNumbers() } catch { throw error.openingError }
    }

    private func checkEncoding() throws(PostgresError) {
        let found = try connection.query(
            "SELECT pg_encoding_to_char(encoding)::text AS name FROM pg_database "
                + "WHERE datname = current_database()")
        guard found.first?["name"] == .text("UTF8") else {
            throw .misfit("the database's encoding is not UTF8; make it with ENCODING 'UTF8'")
        }
    }

    /// Makes the tables in one transaction. A lock keeps out other processes that do the same.
    private func make() throws(AuthorityError) {
        let runner = PostgreSQLRunner(connection)
        do throws(AuthorityError) {
            do throws(PostgresError) {
                try connection.begin()
                _ = try connection.query("SELECT pg_advisory_xact_lock($1)", [.integer(Self.lock)])
            } catch {
                throw error.openingError
            }
            try Schema.make(in: runner, at: place)
            do throws(PostgresError) { try connection.commit() } catch { throw error.openingError }
        } catch {
            connection.rollback()
            throw runner.failure?.openingError ?? error
        }
    }

    /// Raises `base` if records came from another cluster, whose numbers may be higher than the
    /// next ones here. Also deletes old rows of `news`: 7 days after its last change nobody needs a
    /// row.
    private func liftNumbers() throws(PostgresError) {
        try connection.send("""
            UPDATE numbering SET base = found.newest
            FROM (
                SELECT greatest(
                    coalesce((SELECT max(number) FROM audit), 0),
                    coalesce((SELECT max(number) FROM touches), 0)) AS newest
            ) AS found
            WHERE found.newest
                >= base + pg_snapshot_xmax(pg_current_snapshot())::text::bigint * 1048576
            """)
        _ = try connection.change("DELETE FROM news WHERE at < now() - interval '7 days'")
    }
}
