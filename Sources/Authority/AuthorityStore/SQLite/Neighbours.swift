package import AuthorityCore
import GRDB
package import Sessions

/// What other processes on the same file have done, and what outlives them all.
extension SQLiteAuthorityStore {
    /// SQLite tells no process of another's commit, and this is what it offers instead. It
    /// costs a look at the shared memory of the log, reads no page and waits only for a write
    /// that is under way here.
    ///
    /// Source: SQLite, `PRAGMA data_version`.
    package func foreignVersion() async throws(AuthorityError) -> Int64 {
        do {
            // On the connection that writes: on it alone, our writes are not a change.
            return try await pool.writeWithoutTransaction { database in
                try Int64.fetchOne(database, sql: "PRAGMA data_version") ?? 0
            }
        } catch {
            throw storeFailure(error)
        }
    }

    package func latestTime() async throws(AuthorityError) -> Timestamp? {
        try await look { transaction throws(AuthorityError) in try transaction.latestTime() }
    }

    package func raiseLatestTime(to time: Timestamp) async throws(AuthorityError) {
        try await set { transaction throws(AuthorityError) in
            try transaction.raiseLatestTime(to: time)
        }
    }

    package func resetLatestTime(to time: Timestamp) async throws(AuthorityError) {
        try await set { transaction throws(AuthorityError) in
            try transaction.resetLatestTime(to: time)
        }
    }

    package func tally() async throws(AuthorityError) -> StoreTally {
        try await look { transaction throws(AuthorityError) in try transaction.tally() }
    }

    private func set(
        _ body: @escaping @Sendable (StoreTransaction) throws(AuthorityError) -> Void
    ) async throws(AuthorityError) {
        do {
            try await pool.write { [wrapping] in try body(StoreTransaction($0, wrapping)) }
        } catch {
            throw storeFailure(error)
        }
    }
}
