package import AuthorityCore
package import PostgreSQLClient
package import Sessions
import Synchronization

/// An authority's records in a PostgreSQL database. Any number of authorities can share it.
///
/// Each `transact` is a SERIALIZABLE transaction. Concurrent transactions have the same result as
/// one after another; if not, one of them runs again. That is safe, because a body changes nothing
/// but the records.
///
/// If the connection is lost during a commit, the outcome is unknown. It is thrown as a failure and
/// not retried, because the commit may be kept. The client repeats the request, as after a lost
/// reply. If the commit was kept, the store finds the reply by the request's id. If not, the
/// request is done now. Either way it is done once.
///
/// A refresh token is spent in the same transaction that saves the reply with its successor. So an
/// outage uses up no token, and the repeated request is not taken for theft.
///
/// Readers need none of this: `read` is one REPEATABLE READ snapshot. `glance` is a single
/// statement if that is enough.
///
/// Source: PostgreSQL, 13.2.3 "Serializable Isolation Level" and 13.5 "Serialization Failure
/// Handling".
package final class PostgreSQLAuthorityStore: ServiceStore {
    let pool: PostgresPool
    let wrapping: any SecretWrapping
    let holds: PostgresHolds
    let address: PostgresAddress
    let crier: ChangeNotifier
    /// The random name of this store, different from all others on its database.
    let name: String
    let turn = Turn()
    let group = RequestGroup()
    /// Counts the transactions that were run, and the retries.
    package let attempts = AttemptCount()
    let lost = Atomic(0)
    package var losses: Int { lost.load(ordering: .relaxed) }
    let full = Atomic(false)
    package var isDiskFull: Bool { full.load(ordering: .relaxed) }

    /// Connects, and makes the tables if there are none.
    ///
    /// - Throws: `failed(layer: StoreOpening.away)` if the database cannot be reached, as in later
    ///   calls, `failed(layer: StoreOpening.settings)` if the database refuses these settings,
    ///   `failed(layer: "store")` if its state is wrong, `failed(layer: "schema")` if its tables
    ///   have another version.
    package init(
        _ address: PostgresAddress, connections: Int, wrapping: any SecretWrapping
    ) async throws(AuthorityError) {
        self.wrapping = wrapping
        self.address = address
        name = String(UInt64.random(in: .min ... .max), radix: 36)
        pool = PostgresPool(address, PostgresPool.Bounds(connections: connections))
        crier = ChangeNotifier(pool)
        do {
            holds = try PostgresHolds(address)
        } catch {
            throw .failed(layer: "store", text: "the database's thread did not start: \(error)")
        }
        let outcome: Result<Void, AuthorityError>
        do throws(PostgresError) {
            outcome = try await pool.run { connection throws(AuthorityError) in
                try DatabaseOpening(
                    connection: connection, place: "the database \(address.place)").run()
            }
        } catch {
            throw error.openingError
        }
        try outcome.get()
    }

    package func transact<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try await write { transaction throws(AuthorityError) in try body(transaction) }
    }

    package func glance<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try await look(isShort: true) { transaction throws(AuthorityError) in
            try body(transaction)
        }
    }

    package func read<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try await look(isShort: false) { transaction throws(AuthorityError) in
            try body(transaction)
        }
    }

    package func latestTime() async throws(AuthorityError) -> Timestamp? {
        try await look(isShort: true) { transaction throws(AuthorityError) in
            try transaction.latestTime()
        }
    }

    package func raiseLatestTime(to time: Timestamp) async throws(AuthorityError) {
        try await write { transaction throws(AuthorityError) in
            try transaction.raiseLatestTime(to: time)
        }
    }

    package func resetLatestTime(to time: Timestamp) async throws(AuthorityError) {
        try await write { transaction throws(AuthorityError) in
            try transaction.resetLatestTime(to: time)
        }
    }

    /// The cluster's timeline. A standby starts a new one when it takes over.
    ///
    /// Source: PostgreSQL, 26.3.5 "Timelines"; 9.27, `pg_walfile_name`, which says it at once.
    package func history() async throws(AuthorityError) -> String? {
        let row: SQLRow?
        do throws(PostgresError) {
            row = try await pool.run { connection throws(PostgresError) in
                try connection.query("""
                    SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline
                    """).first
            }.get()
        } catch {
            if case .server(let state, _) = error, state.isUnsupported { return nil }
            throw noted(error.authorityError)
        }
        guard case .text(let timeline)? = row?["timeline"] else { return nil }
        return timeline
    }

    package func tally() async throws(AuthorityError) -> StoreTally {
        try await look(isShort: false) { transaction throws(AuthorityError) in
            try transaction.tally()
        }
    }

    /// Counts the commits of other stores on this database that others watch for: audit entries,
    /// changes of boards, jobs and keys. Heartbeats are not counted, because nobody waits for them.
    package func foreignVersion() async throws(AuthorityError) -> Int64 {
        let own = name
        let row: SQLRow?
        do throws(PostgresError) {
            row = try await pool.run { connection throws(PostgresError) in
                try connection.query(
                    "SELECT coalesce(sum(count), 0)::bigint AS number FROM news WHERE store <> $1",
                    [.text(own)]
                ).first
            }.get()
        } catch {
            throw noted(error.authorityError)
        }
        guard case .integer(let number)? = row?["number"] else { return 0 }
        return number
    }

    package func hold(_ name: String) async throws(AuthorityError) -> (any StoreHold)? {
        do throws(PostgresError) { return try await holds.hold(name) } catch {
            throw noted(error.authorityError)
        }
    }

    package func share(_ name: String) async throws(AuthorityError) -> (any StoreHold)? {
        do throws(PostgresError) { return try await holds.hold(name, beside: true) } catch {
            throw noted(error.authorityError)
        }
    }

    /// Closes the store. Later calls throw.
    package func close() throws(AuthorityError) {
        pool.close()
        holds.close()
    }
}

extension HeldName: StoreHold {}
