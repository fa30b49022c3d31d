/// The time limits and size limits of one connection.
package struct PostgresLimits: Equatable, Sendable {
    /// For TCP, TLS and login of one host together. The name lookup comes before and has the time
    /// limits of the system's resolver (resolv.conf(5), `timeout` and `attempts`).
    package var connect: Duration = .seconds(5)
    /// The server cancels a statement after this time. Zero is no limit.
    package var statement: Duration = .seconds(10)
    /// The server stops waiting for a lock after this time. Zero is no limit.
    package var lock: Duration = .seconds(5)
    /// The server ends a connection that is silent for this time in an open transaction.
    package var idleInTransaction: Duration = .seconds(15)
    /// The most rows of one result.
    package var rows = 100_000
    /// The most bytes of one result.
    package var bytes = 64 << 20
    /// The most statements that stay prepared.
    package var statements = 400

    package static let usual = PostgresLimits()

    package init() {}

    /// How long an answer may take before the connection counts as dead. A living server has given
    /// up long before.
    var answer: Duration? {
        statement == .zero ? nil : statement + .seconds(5)
    }

    /// The server's part of the limits, for the connection parameter `options`.
    var options: String {
        "-c statement_timeout=\(statement.wholeMilliseconds)"
            + " -c lock_timeout=\(lock.wholeMilliseconds)"
            + " -c idle_in_transaction_session_timeout=\(idleInTransaction.wholeMilliseconds)"
            + Self.planning
    }

    /// Planner settings. Every statement of ours has an index, even for small tables: a transaction
    /// that reads a whole table conflicts with all that write to it. Each plan is made once and
    /// kept, and compiling it is not worth the time.
    ///
    /// Source: PostgreSQL, 13.2.3 "Serializable Isolation Level" and 20.7 "Query Planning".
    private static let planning =
        " -c enable_seqscan=off -c plan_cache_mode=force_generic_plan -c jit=off"
}

extension Duration {
    /// Rounded up, and limited to the range that the server and `poll` accept.
    var wholeMilliseconds: Int32 {
        let parts = components
        guard parts.seconds < 1_000_000 else { return 1_000_000_000 }
        guard parts.seconds >= 0, parts.attoseconds >= 0 else { return 0 }
        let rest = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: parts.seconds * 1000 + rest)
    }
}
