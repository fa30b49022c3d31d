package import AuthorityCore
import AuthorityStore
import GRDB
package import Sessions

extension SQLiteDataStore {
    /// The most records that one transaction deletes.
    private static let step = 5_000
    /// The most pages that one trim gives back: 16 MiB.
    private static let freed = 4096

    package func trim(
        _ bounds: DataBounds, now: Timestamp
    ) async throws(AuthorityError) -> TrimCount {
        let count = try await write { tables throws(AuthorityError) in
            try tables.forgetReleases(before: now - DataRelease.memory)
            return try Deletion(tables: tables).trim(bounds, now: now, limit: Self.step)
        }
        do {
            try await pool.writeWithoutTransaction { database in
                guard try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0 > 0 else {
                    return
                }
                try database.execute(sql: "PRAGMA incremental_vacuum(\(Self.freed))")
            }
        } catch {
            throw storeFailure(error)
        }
        return count
    }

    package func usage() async throws(AuthorityError) -> DataUsage {
        try await read { database in
            let oldest = try Int64.fetchOne(database, sql: "SELECT min(id) FROM records")
            return DataUsage(
                records: try Deletion.total(database), bytes: try Deletion.size(database).file,
                oldest: oldest.map(RecordRowID.time))
        }
    }
}

/// Deletes records, and what was derived from them alone.
struct Deletion {
    let tables: SQLiteTables

    private var database: Database { tables.database }

    static func total(_ database: Database) throws -> Int64 {
        try Int64.fetchOne(
            database, sql: "SELECT number FROM totals WHERE name = 'records'") ?? 0
    }

    /// The bytes of the file, and those of them that are in use.
    static func size(_ database: Database) throws -> (file: Int64, used: Int64) {
        let row = try Row.fetchOne(database, sql: """
            SELECT page_count * page_size AS file, (page_count - freelist_count) * page_size AS used
            FROM pragma_page_count(), pragma_page_size(), pragma_freelist_count()
            """)
        return (row?["file"] ?? 0, row?["used"] ?? 0)
    }

    func trim(
        _ bounds: DataBounds, now: Timestamp, limit: Int
    ) throws(AuthorityError) -> TrimCount {
        try StoredRows.asStore {
            var count = TrimCount()
            let cut = bounds.keep <= .zero
                ? Int64.max : RecordRowID.first(at: now - bounds.keep)
            count.old = try deleteOldest(before: cut, limit: limit)
            count.isMore = count.old == limit
            try deleteObjects(before: cut, limit: limit)
            guard !count.isMore else { return count }
            let (used, total) = (try Self.size(database).used, try Self.total(database))
            guard used > bounds.maxBytes, total > 0 else { return count }
            // About as many as are too much, so that a small excess costs few records.
            let excess = Double(used - max(bounds.maxBytes, 0)) / Double(used) * Double(total)
            let most = min(limit, Int(excess) + 1)
            count.oversize = try deleteOldest(before: .max, limit: most)
            count.isMore = try Self.size(database).used > bounds.maxBytes
                && Self.total(database) > 0
            return count
        }
    }

    private func deleteOldest(before cut: Int64, limit: Int) throws -> Int {
        let rows = try Row.fetchAll(
            database.cachedStatement(sql: """
                SELECT id, feed FROM records WHERE id < ? ORDER BY id LIMIT ?
                """), arguments: [cut, limit])
        guard let last = rows.last?["id"] as Int64? else { return 0 }
        try database.cachedStatement(sql: "DELETE FROM records WHERE id <= ?").run([last])
        try subtract(rows.count)
        // With fewer rows than asked for, nothing is left before the cut.
        let edge = rows.count < limit ? cut : last
        for feed in Set(rows.map { $0["feed"] as Int64 }) { try clean(feed, before: edge) }
        try deleteObjects(before: edge, limit: limit)
        tables.cache = TableCache()
        return rows.count
    }

    private func subtract(_ count: Int) throws {
        try database.cachedStatement(
            sql: "UPDATE totals SET number = max(number - ?, 0) WHERE name = 'records'"
        ).run([count])
    }

    /// Deletes what a feed has no more records for: no record of it is before the edge.
    private func clean(_ feed: Int64, before edge: Int64) throws {
        let time = edge == .max ? Int64.max : edge >> RecordRowID.bits
        try database.cachedStatement(sql: """
            DELETE FROM rollups
            WHERE series IN (SELECT id FROM series WHERE feed = ?1) AND minute < ?2
            """).run([feed, time == .max ? time : time / 60_000])
        try database.cachedStatement(
            sql: "DELETE FROM series WHERE feed = ? AND written_at < ?").run([feed, time])
        try deleteIfEmpty(feed)
    }

    private func deleteIfEmpty(_ feed: Int64) throws {
        let isUsed = try database.cachedStatement(
            sql: "SELECT 1 FROM records WHERE feed = ? LIMIT 1").first([feed]) != nil
        guard !isUsed else { return }
        for sql in [
            "DELETE FROM rollups WHERE series IN (SELECT id FROM series WHERE feed = ?)",
            "DELETE FROM series WHERE feed = ?", "DELETE FROM feeds WHERE id = ?",
        ] { try database.cachedStatement(sql: sql).run([feed]) }
    }

    /// An object goes with its last write.
    private func deleteObjects(before edge: Int64, limit: Int) throws {
        try database.cachedStatement(sql: """
            DELETE FROM objects WHERE (owner, class, object) IN (
                SELECT owner, class, object FROM objects WHERE updated_at < ?
                ORDER BY updated_at LIMIT ?)
            """).run([edge == .max ? edge : edge >> RecordRowID.bits, limit])
    }

    /// Deletes a part of a board's records. Returns whether more are left.
    func records(
        of board: InstallationID, owner: UserID, limit: Int
    ) throws(AuthorityError) -> Bool {
        try StoredRows.asStore {
            tables.cache = TableCache()
            var left = limit
            let feeds = try Int64.fetchAll(
                database, sql: "SELECT id FROM feeds WHERE board = ? AND owner = ?",
                arguments: [board.description, owner.description])
            for feed in feeds {
                try database.cachedStatement(sql: """
                    DELETE FROM records WHERE id IN (
                        SELECT id FROM records WHERE feed = ? LIMIT ?)
                    """).run([feed, left])
                let count = database.changesCount
                try subtract(count)
                left -= count
                guard left > 0 else { return true }
                try deleteIfEmpty(feed)
            }
            try database.cachedStatement(
                sql: "DELETE FROM objects WHERE board = ? AND owner = ?"
            ).run([board.description, owner.description])
            return false
        }
    }
}
