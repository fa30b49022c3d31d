import CPostgreSQL

/// One connection to the database: pipelined statements with binary parameters. A placeholder is
/// `$1` or, as in the shared tables, `?` (see `PlaceholderText`).
///
/// The caller blocks. Use it on one thread at a time. `send` only queues. `query`, `change` and
/// `commit` send all queued statements, wait, and throw the error of the first statement that
/// failed. The server has then skipped the statements after it.
///
/// So queued writes and their commit cost one round trip together, and so do `begin` and the first
/// query. If thousands are queued, they are answered in parts, so `send` also waits and throws.
/// Without `begin` and `commit`, statements that are sent together are one transaction.
///
/// After `lost`, `tooLarge` and other protocol errors `isUsable` is false: discard the connection.
package final class PostgresConnection {
    /// How much a transaction sees of others. Source: PostgreSQL, 13.2 "Transaction Isolation".
    package enum Isolation: String, Sendable {
        case readCommitted = "READ COMMITTED"
        case repeatableRead = "REPEATABLE READ"
        case serializable = "SERIALIZABLE"
    }

    let link: ServerLink
    let limits: PostgresLimits
    var statements: PreparedStatements
    /// Statements that were sent and not yet answered, oldest first.
    var unanswered: [SentStatement] = []
    /// The rows of each query in the last answer.
    var reads: [[SQLRow]] = []
    /// Bytes that libpq received since the last flush.
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

    /// Whether the connection can be used, by the known state: it does not look at the socket.
    package var isUsable: Bool { !link.isBroken }

    /// Whether `begin` was answered, but not yet `commit` or `rollback`.
    package var isInTransaction: Bool {
        link.transaction == PQTRANS_INTRANS || link.transaction == PQTRANS_INERROR
    }

    /// Queues the start of a transaction. It is sent with the next statement.
    package func begin(
        _ isolation: Isolation = .readCommitted, readOnly: Bool = false
    ) throws(PostgresError) {
        try send(Self.beginning(isolation, readOnly: readOnly))
    }

    private static func beginning(_ isolation: Isolation, readOnly: Bool) -> String {
        "BEGIN ISOLATION LEVEL \(isolation.rawValue) \(readOnly ? "READ ONLY" : "READ WRITE")"
    }

    /// Queues a statement whose rows are not needed. Its error comes with the next statement that
    /// waits. If thousands are queued, this call waits itself.
    package func send(_ sql: String, _ values: [SQLValue] = []) throws(PostgresError) {
        try put(sql, values, .write)
    }

    /// Runs many queries in one round trip, and returns the rows of each. With `begins`, a
    /// SERIALIZABLE transaction starts between `first` and `rest`.
    package func query(
        _ first: [SQLQuery], thenBeginning begins: Bool, _ rest: [SQLQuery]
    ) throws(PostgresError) -> [[SQLRow]] {
        // Prepare first: a new statement waits for an answer, and would take the answers of earlier
        // queries.
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

    /// Runs a statement, waits, and returns the number of changed rows.
    package func change(
        _ sql: String, _ values: [SQLValue] = []
    ) throws(PostgresError) -> Int {
        try put(sql, values, .write)
        return try answer().changes
    }

    /// Commits the transaction with all queued statements. When it returns, the transaction is
    /// durable.
    ///
    /// If it throws `lost` with `whileCommitting`, only the database knows the outcome. After any
    /// other error nothing was kept, and the transaction has ended.
    package func commit() throws(PostgresError) {
        do throws(PostgresError) {
            try put("COMMIT", [], .commit)
            let tag = try answer().tag
            // The commit of a transaction that has already failed is a rollback, and not an error.
            guard tag == "COMMIT" else {
                throw .server(.failedTransaction, "the transaction had failed before")
            }
        } catch {
            if isUsable { rollback() }
            throw error
        }
    }

    /// Ends the transaction and keeps nothing of it. Does nothing if there is no transaction.
    ///
    /// If this fails, the connection is abandoned, and the server rolls back by itself.
    package func rollback() {
        // Queued statements are answered first. After an error in one, the server skips the rest.
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
