package import AuthorityCore
import GRDB
package import Sessions

/// What other processes on the same file have done, and what outlives them all.
extension SQLiteAuthorityStore {
    /// Another value whenever another process, or another store on the file, has committed
    /// since the last call. What this store commits does not change it.
    ///
    /// To be asked several times a second: SQLite tells no process of another's commit, and
    /// this is what it offers instead. It costs a look at the shared memory of the log, reads
    /// no page and waits only for a write that is under way here. Ask before what depends on
    /// it is read.
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

    /// The latest time that a service of this store has believed; nil before the first.
    package func latestTime() async throws(AuthorityError) -> Timestamp? {
        do {
            return try await pool.read { database in
                try Int64.fetchOne(database, sql: "SELECT at FROM times WHERE name = 'latest'")
            }.map(Timestamp.init(milliseconds:))
        } catch {
            throw storeFailure(error)
        }
    }

    /// Raises the latest time to `time`; one that is later already stays.
    package func raiseLatestTime(to time: Timestamp) async throws(AuthorityError) {
        try await setLatestTime(
            """
            INSERT INTO times (name, at) VALUES ('latest', ?)
            ON CONFLICT (name) DO UPDATE SET at = max(at, excluded.at)
            """, time)
    }

    /// Makes `time` the latest, also where it is earlier: an operator says so.
    package func resetLatestTime(to time: Timestamp) async throws(AuthorityError) {
        try await setLatestTime(
            """
            INSERT INTO times (name, at) VALUES ('latest', ?)
            ON CONFLICT (name) DO UPDATE SET at = excluded.at
            """, time)
    }

    private func setLatestTime(_ sql: String, _ time: Timestamp) async throws(AuthorityError) {
        do {
            try await pool.write { database in
                try database.execute(sql: sql, arguments: [time.milliseconds])
            }
        } catch {
            throw storeFailure(error)
        }
    }
}
