import AuthorityCore
import AuthorityStore

/// Brings a database's tables up to date. Each step is one transaction, in which a lock keeps
/// out every other process that is at it: several may start at once.
struct PostgreSQLMigrations {
    /// A step has a name for ever, and is never changed once it was published.
    struct Step: Sendable {
        let name: String
        let statements: [String]
    }

    static let steps = [
        Step(name: "1", statements: PostgreSQLTables.first),
        Step(name: "gaps", statements: PostgreSQLTables.gaps),
        Step(name: "people", statements: PostgreSQLTables.peoplesSessions),
    ]

    let steps: [Step]
    let connection: PostgresConnection

    /// Any number that nothing else in this database locks.
    private static let lock: Int64 = 0x706F_7374_6572_6E01

    /// Over a connection of its own, which waits for as long as a step takes.
    static func bringUpToDate(_ address: PostgresAddress) throws(AuthorityError) {
        let connection: PostgresConnection
        do throws(PostgresError) {
            connection = try PostgresConnection(address, limits: .patient)
        } catch {
            throw error.openingError
        }
        try PostgreSQLMigrations(steps: steps, connection: connection).run()
    }

    /// - Throws: `failed(layer: "schema")` if a later version of this program has written the
    ///   database; then nothing was changed.
    func run() throws(AuthorityError) {
        do throws(PostgresError) {
            try checkEncoding()
            for step in steps { try apply(step) }
        } catch {
            throw error.openingError
        }
        let later = try laterNames()
        guard later.isEmpty else {
            throw .failed(layer: "schema", text: """
                a later version of this program wrote the database: it has \
                \(later.map { "`\($0)`" }.joined(separator: ", ")), unknown to this one; \
                install that version again
                """)
        }
        do throws(PostgresError) { try liftNumbers() } catch { throw error.openingError }
    }

    /// Before the first step too: what a later version wrote is left as it is.
    private func laterNames() throws(AuthorityError) -> [String] {
        do throws(PostgresError) {
            return try names().filter { name in !steps.contains { $0.name == name } }.sorted()
        } catch {
            throw error.openingError
        }
    }

    private func checkEncoding() throws(PostgresError) {
        let found = try connection.query(
            "SELECT pg_encoding_to_char(encoding)::text AS name FROM pg_database "
                + "WHERE datname = current_database()")
        guard found.first?["name"] == .text("UTF8") else {
            throw .misfit("the database's encoding is not UTF8; make it with ENCODING 'UTF8'")
        }
    }

    private func names() throws(PostgresError) -> [String] {
        try connection.query("SELECT name FROM schema_versions").compactMap { row in
            if case .text(let name)? = row["name"] { name } else { nil }
        }
    }

    private func apply(_ step: Step) throws(PostgresError) {
        do throws(PostgresError) {
            try connection.begin()
            _ = try connection.query("SELECT pg_advisory_xact_lock($1)", [.integer(Self.lock)])
            try connection.send("""
                CREATE TABLE IF NOT EXISTS schema_versions (
                    name TEXT COLLATE "C" PRIMARY KEY,
                    at TIMESTAMPTZ NOT NULL DEFAULT now()
                )
                """)
            let done = try names()
            let isLater = done.contains { name in !steps.contains { $0.name == name } }
            if !done.contains(step.name), !isLater {
                for statement in step.statements { try connection.send(statement) }
                try connection.send(
                    "INSERT INTO schema_versions (name) VALUES ($1)", [.text(step.name)])
            }
            try connection.commit()
        } catch {
            connection.rollback()
            throw error
        }
    }

    /// Where records came from another cluster, its numbers may be above what this one would
    /// give out; and rows of stores that are long gone are of no more use.
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
