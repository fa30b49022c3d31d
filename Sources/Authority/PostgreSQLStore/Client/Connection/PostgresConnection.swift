package import AuthorityStore
import CPostgreSQL

/// One connection to the database: statements with binary parameters, pipelined. A parameter's
/// place is `$1` or, as in the shared tables, `?` (see `PlaceholderText`).
///
/// Blocks its caller and is for one thread at a time. `send` only queues; `query`, `change` and
/// `commit` push out all that was queued, wait, and throw the error of the first statement that
/// failed; the server has skipped those after it. So a transaction whose writes are sent and
/// whose commit follows costs one round trip for them all, as does its `begin` with the first
/// query. Thousands of them are answered in parts, and then `send` waits and throws, too.
/// Outside of `begin` and `commit`, what is pushed out together is one transaction.
///
/// After `lost`, `tooLarge` and what else breaks the protocol `isUsable` is false: throw it away.
package final class PostgresConnection {
    /// What a transaction sees of others. Source: PostgreSQL, 13.2 "Transaction Isolation".
    package enum Isolation: String, Sendable {
        case readCommitted = "READ COMMITTED"
        case repeatableRead = "REPEATABLE READ"
        case serializable = "SERIALIZABLE"
    }

    let link: ServerLink
    let limits: PostgresLimits
    var statements: PreparedStatements
    /// Sent and not yet answered, oldest first.
    var unanswered: [SentStatement] = []
    /// The rows of each query that was answered last.
    var reads: [[SQLRow]] = []
    /// What was given to libpq since it was last pushed out.
    var unsentBytes = 0

    /// Connects and logs in. Blocks; see `PostgresLimits.connect`.
    ///
    /// Throws `unreachable` with the layer that failed.
    package init(
        _ address: PostgresAddress, limits: PostgresLimits = .usual
    ) throws(PostgresError) {
        link = try ServerLink.open(address, limits)
        self.limits = limits
        statements = PreparedStatements(limit: limits.statements)
    }

    /// Whether the connection can be used; looks at nothing but what is known already.
    package var isUsable: Bool { !link.isBroken }

    /// Whether `begin` was answered and neither `commit` nor `rollback` was.
    package var isInTransaction: Bool {
        link.transaction == PQTRANS_INTRANS || link.transaction == PQTRANS_INERROR
    }

    /// Queues the beginning of a transaction; it travels with the next statement.
    package func begin(
        _ isolation: Isolation = .readCommitted, readOnly: Bool = false
    ) throws(PostgresError) {
        try send(Self.beginning(isolation, readOnly: readOnly))
    }

    private static func beginning(_ isolation: Isolation, readOnly: Bool) -> String {
        "BEGIN ISOLATION LEVEL \(isolation.rawValue) \(readOnly ? "READ ONLY" : "READ WRITE")"
    }

    /// Queues a statement whose rows do not matter. Its error comes with the next statement
    /// that waits, which this one is where thousands are queued.
    package func send(_ sql: String, _ values: [SQLValue] = []) throws(PostgresError) {
        try put(sql, values, .write)
    }

    /// Runs many queries in one trip, and returns the rows of each. With `begins` a SERIALIZABLE
    /// transaction begins between the first ones and the rest.
    func query(
        _ first: [SQLQuery], thenBeginning begins: Bool, _ rest: [SQLQuery]
    ) throws(PostgresError) -> [[SQLRow]] {
        // A statement that is new here waits for an answer, which would be that of earlier ones.
        var last = begins ? Self.beginning(.serializable, readOnly: false) : ""
        if begins { try prepare(last) }
        for query in first + rest where query.sql != last {
            last = query.sql
            try prepare(last)
        }
        for query in first { try put(query.sql, query.values, .read) }
        if begins {
            try putSync()
            try begin(.serializable)
        }
        for query in rest { try put(query.sql, query.values, .read) }
        _ = try answer()
        return reads
    }

    /// Runs a statement and waits for its rows.
    package func query(
        _ sql: String, _ values: [SQLValue] = []
    ) throws(PostgresError) -> [SQLRow] {
        try put(sql, values, .read)
        return try answer().rows
    }

    /// Runs a statement and waits; returns how many rows it changed.
    package func change(
        _ sql: String, _ values: [SQLValue] = []
    ) throws(PostgresError) -> Int {
        try put(sql, values, .write)
        return try answer().changes
    }

    /// Commits, with all that is still queued. When it returns, the transaction is durable.
    ///
    /// When it throws `lost` with `whileCommitting`, only the database knows; after any other
    /// error nothing was kept, and the transaction is over.
    package func commit() throws(PostgresError) {
        do throws(PostgresError) {
            try put("COMMIT", [], .commit)
            let tag = try answer().tag
            // The commit of a transaction that had failed before is a rollback, and no error.
            guard tag == "COMMIT" else {
                throw .server(.failedTransaction, "the transaction had failed before")
            }
        } catch {
            if isUsable { rollback() }
            throw error
        }
    }

    /// Ends the transaction; nothing of it is kept. Does nothing where there is none.
    ///
    /// Where that fails the connection is abandoned, and the server rolls back by itself.
    package func rollback() {
        // What is queued is answered first; an error in it makes the server skip what follows.
        if !unanswered.isEmpty { _ = try? answer() }
        guard isUsable, isInTransaction else { return }
        do throws(PostgresError) {
            try put("ROLLBACK", [], .write)
            _ = try answer()
        } catch {
            link.abandon()
        }
    }
}
