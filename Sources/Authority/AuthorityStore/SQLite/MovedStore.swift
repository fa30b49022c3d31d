package import AuthorityCore
import GRDB
package import Sessions

/// A store on its way to another place, and one that has gone there.
///
/// While it is frozen every write to it fails, whichever process and whichever version of this
/// program tries: the database itself refuses. Nothing is answered that would not be kept, so
/// boards and people repeat what they asked for, and find it done by the store that comes after.
extension StoreFile {
    /// The layer of a transfer that may have come about or not.
    package static let unknownOutcome = "transfer"
    package static let unknown = AuthorityError.failed(
        layer: unknownOutcome, text: "whether the records went over is unknown; run it again")

    /// Whether it is frozen, since when and for whom.
    package func departure() throws(AuthorityError) -> Departure? {
        try look { runner throws(AuthorityError) in
            // A file of before there were moves has no such table.
            let times = try runner.rows("SELECT 1 AS n FROM sqlite_master WHERE name = 'times'", [])
            return times.isEmpty ? nil : try Departure.read(runner)
        }
    }

    package func progress() throws(AuthorityError) -> StoreProgress {
        try look { runner throws(AuthorityError) in try StoreProgress.read(runner) }
    }

    private func look<R>(
        _ body: (SQLiteRunner) throws(AuthorityError) -> R
    ) throws(AuthorityError) -> R {
        var configuration = Configuration()
        configuration.readonly = true
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let found = try queue.read { try body(SQLiteRunner(database: $0)) }
            try queue.close()
            return found
        } catch {
            throw storeFailure(error)
        }
    }

    /// Freezes it, durably; what is under way is committed before. Again, it changes nothing.
    ///
    /// Source: SQLite, `CREATE TRIGGER`, the RAISE function.
    package func freeze(
        at now: Timestamp, for target: Departure.Target
    ) throws(AuthorityError) {
        try write { database in
            let runner = SQLiteRunner(database: database)
            guard try Departure.read(runner) == nil else { return }
            try Departure(at: now, target: target, isDone: false).write(runner)
            for table in StoreCopy.tables {
                for (verb, name) in Self.verbs(table) {
                    try database.execute(sql: Self.trigger(name, on: verb, of: table))
                }
            }
        }
    }

    /// Notes that the records are where they were to go. Again, it changes nothing.
    package func noteArrival() throws(AuthorityError) {
        try write { database in
            let runner = SQLiteRunner(database: database)
            guard let departure = try Departure.read(runner), !departure.isDone,
                let (verb, name) = Self.verbs("times").first
            else { return }
            try database.execute(sql: "DROP TRIGGER IF EXISTS \(name)")
            try runner.run(
                "INSERT INTO times (name, at) VALUES (?, ?)",
                [.text(Departure.arrival), .integer(departure.at.milliseconds)])
            try database.execute(sql: Self.trigger(name, on: verb, of: "times"))
        }
    }

    /// Takes it back: the move did not come about, or is undone. `body` is done in the same
    /// transaction.
    package func thaw(
        wrapping: any SecretWrapping,
        _ body: (any ServiceTransaction) throws(AuthorityError) -> Void = { _ in }
    ) throws(AuthorityError) {
        try write { database in
            for table in StoreCopy.tables {
                for (_, name) in Self.verbs(table) {
                    try database.execute(sql: "DROP TRIGGER IF EXISTS \(name)")
                }
            }
            let runner = SQLiteRunner(database: database)
            try Departure.erase(runner)
            try body(tables(over: runner, wrapping: wrapping))
        }
    }

    private static func trigger(_ name: String, on verb: String, of table: String) -> String {
        """
        CREATE TRIGGER IF NOT EXISTS \(name) BEFORE \(verb) ON \(table)
        BEGIN SELECT RAISE(ABORT, '\(Departure.refusal)'); END
        """
    }

    private static func verbs(_ table: String) -> [(verb: String, name: String)] {
        ["INSERT", "UPDATE", "DELETE"].map { ($0, "moved_\(table)_\($0.lowercased())") }
    }

    private func write(_ body: (Database) throws -> Void) throws(AuthorityError) {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        do {
            let pool = try DatabasePool(path: path, configuration: configuration)
            try pool.write(body)
            try pool.close()
        } catch {
            throw storeFailure(error)
        }
    }

    /// Carries what is in it into another store, which `target` writes to. The mark that it is
    /// frozen stays here; there it says of when the records are.
    package func pour(
        into target: any SQLRunner
    ) throws(AuthorityError) -> [String: Int] {
        var configuration = Configuration()
        configuration.readonly = true
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            let counts = try queue.read { database in
                let source = SQLiteRunner(database: database)
                let counts = try StoreCopy(schemaOf: source).run(from: source, to: target)
                try target.run("DELETE FROM times WHERE name = 'migrated'", [])
                try target.run(
                    "UPDATE times SET name = 'migrated' WHERE name = ?",
                    [.text(Departure.mark)])
                try Departure.erase(target)
                return counts
            }
            try queue.close()
            return counts
        } catch {
            throw storeFailure(error)
        }
    }

    /// Makes the file a store with today's schema and carries into it what `source` reads, also
    /// where that takes no write any more; the file is empty or not there.
    package func fill(from source: any SQLRunner) throws(AuthorityError) -> [String: Int] {
        do {
            let queue = try DatabaseQueue(path: path)
            try Schema.migrator.migrate(queue)
            let counts = try queue.write { database in
                let target = SQLiteRunner(database: database)
                let counts = try StoreCopy(schemaOf: target).run(from: source, to: target)
                try Departure.erase(target)
                return counts
            }
            try queue.close()
            return counts
        } catch {
            throw storeFailure(error)
        }
    }

    /// Brings the file's schema up to date, so that it can be carried elsewhere.
    ///
    /// - Throws: what opening it as a store does.
    package func modernise(wrapping: any SecretWrapping) throws(AuthorityError) {
        try SQLiteAuthorityStore(path: path, wrapping: wrapping).close()
    }
}
