package import AuthorityCore
import GRDB
package import Sessions

/// Commits of other processes on the same file, and values that are kept across restarts.
extension SQLiteAuthorityStore {
    /// A value that changes when another process commits. SQLite does not report such commits, so
    /// the caller asks. The call looks at the shared memory of the log and reads no page. It waits
    /// only for a write that is under way in this process.
    ///
    /// Source: SQLite, `PRAGMA data_version`.
    package func foreignVersion() async throws(AuthorityError) -> Int64 {
        do {
            // Ask on the connection that writes: only there our own writes do not count as a
            // change.
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
