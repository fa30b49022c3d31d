/// How long one connection waits and how much it takes.
package struct PostgresLimits: Equatable, Sendable {
    /// For TCP, TLS and login of one host together; looking its name up comes before, and takes
    /// what the system's resolver takes (resolv.conf(5), `timeout` and `attempts`).
    package var connect: Duration = .seconds(5)
    /// The server cancels a statement after this. Zero is no limit.
    package var statement: Duration = .seconds(10)
    /// The server gives up waiting for a lock after this. Zero is no limit.
    package var lock: Duration = .seconds(5)
    /// The server ends a connection that holds a transaction open and says nothing.
    package var idleInTransaction: Duration = .seconds(15)
    /// The most rows of one result.
    package var rows = 100_000
    /// The most bytes of one result, and of what stands unsent before it is pushed out.
    package var bytes = 64 << 20
    /// The most statements that stay prepared.
    package var statements = 400

    package static let usual = PostgresLimits()

    package init() {}

    /// How long an answer may take before the connection counts as dead: the server has given
    /// up by itself long before, if it is alive.
    var answer: Duration? {
        statement == .zero ? nil : statement + .seconds(5)
    }

    /// The server's side of the limits, for the connection parameter `options`.
    var options: String {
        "-c statement_timeout=\(statement.wholeMilliseconds)"
            + " -c lock_timeout=\(lock.wholeMilliseconds)"
            + " -c idle_in_transaction_session_timeout=\(idleInTransaction.wholeMilliseconds)"
            + Self.planning
    }

    /// Every statement of ours has its index, also where a table is so small that reading all
    /// of it would be cheaper: whoever reads all of a table conflicts with all who write to it.
    /// What is planned once is planned for good, and is never worth compiling.
    ///
    /// Source: PostgreSQL, 13.2.3 "Serializable Isolation Level" and 20.7 "Query Planning".
    private static let planning =
        " -c enable_seqscan=off -c plan_cache_mode=force_generic_plan -c jit=off"
}

extension Duration {
    /// Rounded up and kept within what the server and `poll` take.
    var wholeMilliseconds: Int32 {
        let parts = components
        guard parts.seconds < 1_000_000 else { return 1_000_000_000 }
        guard parts.seconds >= 0, parts.attoseconds >= 0 else { return 0 }
        let rest = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: parts.seconds * 1000 + rest)
    }
}
