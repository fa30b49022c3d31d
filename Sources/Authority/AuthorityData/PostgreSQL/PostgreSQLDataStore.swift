package import AuthorityCore
import AuthorityStore
import Gate
package import PostgreSQLClient
import Sessions
import Synchronization

/// The records of boards in the PostgreSQL database of the sessions. Any number of authorities can
/// share it. One of them at a time changes the records; readers do not wait.
package final class PostgreSQLDataStore: DataStore {
    private let pool: PostgresPool
    private let place: String
    private let isMade = Atomic(false)
    /// The day for which this process has looked after the partitions.
    private let preparedDay = Mutex(Int64(-1))
    private let diskSize = Mutex<(bytes: Int64, readAt: ContinuousClock.Instant)?>(nil)

    /// About what a record takes beside its payload, with its indexes.
    static let rowBytes: Int64 = 200

    /// Makes the store. It connects at the first call, and makes the tables if there are none. Open
    /// the store of the sessions first, so that the view has the names of boards.
    ///
    /// A call throws `failed(layer: StoreOpening.away)` while the database cannot be reached, and
    /// `failed(layer: "schema")` if its tables have another version.
    package init(_ address: PostgresAddress, connections: Int = 4) {
        pool = PostgresPool(address, PostgresPool.Bounds(connections: connections))
        place = "the database \(address.place)"
    }

    /// Whether the database has tables of records. Makes none.
    package func hasTables() async throws(AuthorityError) -> Bool {
        do throws(PostgresError) {
            return try await pool.run { connection throws(PostgresError) in
                let row = try connection.query(
                    "SELECT to_regclass('data_version') IS NOT NULL AS made").first
                return row?["made"] == .bool(true)
            }.get()
        } catch {
            throw error.authorityError
        }
    }

    /// The size on disk if it was read within the last minute.
    var knownDiskSize: Int64? {
        diskSize.withLock { known in
            known.flatMap { .now - $0.readAt < .seconds(60) ? $0.bytes : nil }
        }
    }

    func note(diskSize bytes: Int64) { diskSize.withLock { $0 = (bytes, .now) } }

    private func makeTables() async throws(AuthorityError) {
        guard !isMade.load(ordering: .acquiring) else { return }
        let fault: AuthorityError?
        do throws(PostgresError) {
            fault = try await pool.run { [place] connection throws(PostgresError) in
                try PostgreSQLDataSchema.make(in: connection, at: place)
            }.get()
        } catch {
            throw error.authorityError
        }
        if let fault { throw fault }
        isMade.store(true, ordering: .releasing)
    }

    /// Runs `body` in one transaction, while no other authority changes the records.
    func write<R: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLTables) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try await makeTables()
        let result: Result<R, AuthorityError>
        do throws(PostgresError) {
            result = try await pool.run { connection throws(AuthorityError) in
                do throws(PostgresError) {
                    try connection.begin()
                    _ = try connection.query(
                        "SELECT pg_advisory_xact_lock($1)",
                        [.integer(PostgreSQLDataSchema.lock)])
                } catch {
                    throw error.authorityError
                }
                let value = try body(PostgreSQLTables(connection: connection))
                do throws(PostgresError) {
                    try connection.commit()
                } catch {
                    throw error.authorityError
                }
                return value
            }
        } catch {
            throw error.authorityError
        }
        return try result.get()
    }

    /// Runs `body` on one consistent view of the records.
    func read<R: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLTables) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try await makeTables()
        let result: Result<R, AuthorityError>
        do throws(PostgresError) {
            result = try await pool.run { connection throws(AuthorityError) in
                do throws(PostgresError) {
                    try connection.begin(.repeatableRead, readOnly: true)
                } catch {
                    throw error.authorityError
                }
                defer { connection.rollback() }
                return try body(PostgreSQLTables(connection: connection))
            }
        } catch {
            throw error.authorityError
        }
        return try result.get()
    }

    package func keep(_ records: [OwnedRecord]) async throws(AuthorityError) -> KeepCount {
        guard let last = records.map(\.record.receivedAt).max() else { return KeepCount() }
        await prepare(last.milliseconds / PostgreSQLDataSchema.day)
        return try await write { tables throws(AuthorityError) in
            try KeepBatch(tables: tables).run(records)
        }
    }

    /// Makes the partitions of the coming days. If that fails, records go to `data_past`, so they
    /// are kept all the same.
    private func prepare(_ day: Int64) async {
        guard preparedDay.withLock({ $0 != day }) else { return }
        let isDone: Void? = try? await write { tables throws(AuthorityError) in
            try tables.makePartitions(upTo: day)
        }
        if isDone != nil { preparedDay.withLock { $0 = day } }
    }

    package func close() { pool.close() }
}

extension PostgreSQLTables {
    /// Days that are made ahead, and before the first record.
    private static let (ahead, before): (Int64, Int64) = (2, 7)
    /// The most days after a pause.
    private static let most: Int64 = 40

    /// Makes the missing partitions until two days after `day`. The days after the last partition
    /// are made, too, so that what boards stored in a pause finds them.
    func makePartitions(upTo day: Int64) throws(AuthorityError) {
        let end = day + Self.ahead
        let newest = try rows(
            "SELECT coalesce(max(day), -1) AS day FROM data_days WHERE day <= $1",
            [.integer(end)]).first?.integer("day") ?? -1
        let start = newest < 0 ? day - Self.before : max(newest + 1, end - Self.most)
        guard start <= end else { return }
        for new in max(start, 0)...end {
            let (low, high) = (
                new * PostgreSQLDataSchema.day, (new + 1) * PostgreSQLDataSchema.day)
            let isTaken = try !rows("""
                SELECT 1::bigint AS n FROM data_past
                WHERE written_at >= \(PostgreSQLDataSchema.time("$1"))
                    AND written_at < \(PostgreSQLDataSchema.time("$2")) LIMIT 1
                """, [.integer(low), .integer(high)]).isEmpty
            // A partition cannot take over rows.
            guard !isTaken else { continue }
            _ = try rows("""
                CREATE TABLE IF NOT EXISTS data_day_\(new) PARTITION OF data_records FOR VALUES
                FROM (\(Self.bound(low))) TO (\(Self.bound(high)))
                """)
            try send("""
                INSERT INTO data_days (day, records, bytes) VALUES ($1, 0, 0)
                ON CONFLICT DO NOTHING
                """, [.integer(new)])
        }
    }

    /// The start of a day, as a constant.
    private static func bound(_ milliseconds: Int64) -> String {
        "to_timestamp(\(milliseconds / 1000))"
    }
}
