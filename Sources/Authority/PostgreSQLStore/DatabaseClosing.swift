package import AuthorityCore
package import AuthorityStore
import Sessions

/// A database whose records are given up for the file that they came from.
extension PostgreSQLAuthorityStore {
    /// Nobody serves from records that are elsewhere. To be asked before the tables are touched:
    /// there may be none yet.
    static func requireInPlace(
        _ connection: PostgresConnection, _ address: PostgresAddress
    ) throws(AuthorityError) {
        let runner = PostgreSQLRunner(connection)
        let departure: Departure?
        do throws(AuthorityError) {
            let row = try runner.rows(
                "SELECT to_regclass('times') IS NOT NULL AS there", []).first
            departure = row?["there"] == .bool(true) ? try Departure.read(runner) : nil
        } catch {
            throw runner.failure?.openingError ?? error
        }
        if let departure { throw departure.failure(of: "the database \(address.place)") }
    }

    /// The cluster's own number, and the database's and the schema's within it: a copy of the
    /// records by `pg_dump` is another store, a standby of the same cluster is not.
    ///
    /// Source: PostgreSQL, 9.27 "Control Data Functions".
    package func identity() async throws(AuthorityError) -> String {
        try await wholly(.readCommitted, readOnly: true) { runner throws(AuthorityError) in
            let row = try runner.rows(
                """
                SELECT system_identifier::text || '-' || (
                    SELECT oid::text FROM pg_database WHERE datname = current_database()
                ) || '-' || (
                    SELECT oid::text FROM pg_namespace WHERE nspname = current_schema()
                ) AS id FROM pg_control_system()
                """, []).first
            guard case .text(let id)? = row?["id"] else {
                throw .failed(layer: "store", text: "the database does not say which it is")
            }
            return id
        }
    }

    /// In the way of others for as long as their transactions under way last; tried a few times
    /// where they do not end, or where it came to a deadlock with them.
    package func giveBack(
        _ order: GiveBack
    ) async throws(AuthorityError) -> GiveBack.Outcome {
        var tries = 5
        while true {
            do throws(AuthorityError) {
                // Each statement sees what was committed before it: what another transfer did,
                // whose lock is free, too.
                return try await wholly(.readCommitted) { runner throws(AuthorityError) in
                    try Self.requireAlone(runner)
                    return try Self.giveBack(order, runner)
                }
            } catch {
                tries -= 1
                guard tries > 0, error != StoreFile.unknown else { throw error }
            }
            do { try await Task.sleep(for: .milliseconds(200)) } catch {
                throw .failed(layer: "store", text: "the wait for the database was cancelled")
            }
        }
    }

    private static func giveBack(
        _ order: GiveBack, _ runner: PostgreSQLRunner
    ) throws(AuthorityError) -> GiveBack.Outcome {
        let came = try runner.rows("SELECT at FROM times WHERE name = 'migrated'", []).first
        guard came?["at"] == .integer(order.departure.at.milliseconds) else { return .absent }
        let isClosed = try Departure.read(runner) != nil
        if !isClosed {
            let tables = StoreCopy.tables.joined(separator: ", ")
            try runner.run("LOCK TABLE \(tables) IN SHARE ROW EXCLUSIVE MODE", [])
        }
        let hasGoneOn = try StoreProgress.read(runner) != order.progress
        guard !isClosed else { return .closed(hasGoneOn: hasGoneOn) }
        guard !hasGoneOn || order.mayLose else {
            return .wouldLose(entries: try order.progress.entriesSince(runner))
        }
        try Departure(at: order.now, target: order.file, isDone: true).write(runner)
        for statement in closing { try runner.run(statement, []) }
        return .closed(hasGoneOn: hasGoneOn)
    }

    /// Source: PostgreSQL, `CREATE TRIGGER`; 43.9 "Errors and Messages".
    private static let closing = [
        """
        CREATE OR REPLACE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '\(Departure.refusal)' USING ERRCODE = '\(SQLState.movedStore.code)';
        END
        $$
        """,
    ] + StoreCopy.tables.map { table in
        """
        CREATE TRIGGER moved BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON \(table)
            FOR EACH STATEMENT EXECUTE FUNCTION refuse_moved()
        """
    }
}
