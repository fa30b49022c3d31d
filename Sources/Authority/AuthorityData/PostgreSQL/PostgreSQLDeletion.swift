package import AuthorityCore
import PostgreSQLClient
package import Sessions

extension PostgreSQLDataStore {
    /// The most records that one transaction deletes, except in a whole day.
    private static let step: Int64 = 5_000

    /// Drops whole days. So a record is kept until the end of its day, and of the records of a
    /// single day the oldest are deleted one by one.
    package func trim(
        _ bounds: DataBounds, now: Timestamp
    ) async throws(AuthorityError) -> TrimCount {
        try await write { tables throws(AuthorityError) in
            try tables.forgetReleases(before: now - DataRelease.memory)
            return try tables.trim(bounds, now: now, limit: Self.step)
        }
    }

    /// `bytes` is about the size of the records and their indexes. `disk` may be a minute old.
    package func usage() async throws(AuthorityError) -> DataUsage {
        let known = knownDiskSize
        let usage = try await read { tables throws(AuthorityError) in
            let sum = try tables.sum()
            let oldest = try tables.rows("""
                SELECT \(PostgreSQLDataSchema.milliseconds("min(near)")) AS near FROM (
                    SELECT (
                        SELECT r.written_at FROM data_records r WHERE r.feed = f.id
                        ORDER BY r.written_at LIMIT 1) AS near FROM data_feeds f) AS edges
                """).first?["near"]
            var time: Timestamp?
            if case .integer(let near)? = oldest { time = Timestamp(milliseconds: near) }
            let disk = if let known { known } else { try tables.diskSize() }
            return DataUsage(
                records: sum.records, bytes: sum.bytes, disk: disk, oldest: time)
        }
        if known == nil { note(diskSize: usage.disk) }
        return usage
    }
}

extension PostgreSQLTables {
    /// Of all tables of the records. A partition that is dropped meanwhile counts as nothing.
    fileprivate func diskSize() throws(AuthorityError) -> Int64 {
        try rows("""
            SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint AS bytes FROM (
                SELECT inhrelid AS oid FROM pg_inherits WHERE inhparent = 'data_records'::regclass
                UNION ALL
                SELECT unnest(ARRAY['data_series', 'data_rollups', 'data_objects']::regclass[])
            ) AS tables
            """).first?.integer("bytes") ?? 0
    }

    fileprivate func sum() throws(AuthorityError) -> (records: Int64, bytes: Int64) {
        let row = try rows("""
            SELECT coalesce(sum(records), 0)::bigint AS records,
                coalesce(sum(bytes), 0)::bigint AS bytes FROM data_days
            """).first
        return (try row?.integer("records") ?? 0, try row?.integer("bytes") ?? 0)
    }

    func trim(
        _ bounds: DataBounds, now: Timestamp, limit: Int64
    ) throws(AuthorityError) -> TrimCount {
        var count = TrimCount()
        let keepsNothing = bounds.keep <= .zero
        let cut = keepsNothing ? Int64.max : (now - bounds.keep).milliseconds
        let past = try deletePast(before: cut, limit: limit)
        count.old = Int(past)
        count.isMore = past == limit
        if !count.isMore, let day = try oldestDay() {
            let end = (day.day + 1) * PostgreSQLDataSchema.day
            // The last partitions stay for the coming records, but empty.
            let isOld = keepsNothing ? day.records > 0 : end <= cut
            if isOld {
                try drop(day.day)
                (count.old, count.isMore) = (count.old + Int(day.records), true)
            }
        }
        if !count.isMore { try cutSize(to: bounds.maxBytes, limit, &count) }
        if count.old + count.oversize > 0 || keepsNothing {
            try clean(before: keepsNothing ? .max : try oldestTime() ?? .max)
        }
        return count
    }

    /// The oldest partition that is not the past; one with records if there is any.
    private func oldestDay() throws(AuthorityError) -> (day: Int64, records: Int64, bytes: Int64)? {
        let row = try rows("""
            SELECT day, records, bytes FROM data_days WHERE day >= 0
            ORDER BY records = 0, day LIMIT 1
            """).first
        guard let row else { return nil }
        return (try row.integer("day"), try row.integer("records"), try row.integer("bytes"))
    }

    private func drop(_ day: Int64) throws(AuthorityError) {
        try send("DROP TABLE IF EXISTS data_day_\(day)", [])
        _ = try rows("DELETE FROM data_days WHERE day = $1 RETURNING day", [.integer(day)])
    }

    private func cutSize(
        to limit: Int64, _ step: Int64, _ count: inout TrimCount
    ) throws(AuthorityError) {
        let sum = try sum()
        guard sum.bytes > limit, sum.records > 0 else { return }
        let excess = sum.bytes - max(limit, 0)
        let most = min(step, Int64(Double(excess) / Double(sum.bytes) * Double(sum.records)) + 1)
        let past = try deletePast(before: .max, limit: most)
        if past > 0 {
            count.oversize = Int(past)
        } else if let day = try oldestDay(), day.records > 0 {
            if day.bytes <= excess {
                try drop(day.day)
                count.oversize = Int(day.records)
            } else {
                count.oversize = Int(try deleteOldest(in: "data_day_\(day.day)", .max, most))
            }
        }
        count.isMore = try self.sum().bytes > limit && count.oversize > 0
    }

    private func deletePast(before cut: Int64, limit: Int64) throws(AuthorityError) -> Int64 {
        let isEmpty = try rows(
            "SELECT records FROM data_days WHERE day = \(PostgreSQLDataSchema.past)"
        ).first?.integer("records") == 0
        return isEmpty ? 0 : try deleteOldest(in: "data_past", cut, limit)
    }

    /// Deletes the oldest records of one partition.
    private func deleteOldest(
        in partition: String, _ cut: Int64, _ limit: Int64
    ) throws(AuthorityError) -> Int64 {
        try counted("""
            WITH gone AS (
                DELETE FROM \(partition) WHERE ctid IN (
                    SELECT ctid FROM \(partition)
                    WHERE written_at < \(PostgreSQLDataSchema.time("$1"))
                    ORDER BY written_at LIMIT $2)
                RETURNING written_at, octet_length(payload) AS size
            )
            """, [.integer(min(cut, 253_402_300_800_000)), .integer(limit)])
    }

    /// Runs a deletion and subtracts it from the counts of its days.
    private func counted(
        _ deletion: String, _ values: [SQLValue]
    ) throws(AuthorityError) -> Int64 {
        let rows = try rows("""
            \(deletion)
            SELECT floor(extract(epoch FROM written_at) / 86400)::bigint AS day,
                count(*) AS records,
                sum(size + \(PostgreSQLDataStore.rowBytes))::bigint AS bytes
            FROM gone GROUP BY 1
            """, values)
        var days: [Int64: (records: Int64, bytes: Int64)] = [:]
        var sum: Int64 = 0
        for row in rows {
            let records = try row.integer("records")
            days[try row.integer("day")] = (-records, -(try row.integer("bytes")))
            sum += records
        }
        try count(days)
        return sum
    }

    /// The time of the oldest record; a day that was dropped has none.
    private func oldestTime() throws(AuthorityError) -> Int64? {
        let row = try rows("""
            SELECT \(PostgreSQLDataSchema.milliseconds("min(near)")) AS near FROM (
                SELECT (
                    SELECT r.written_at FROM data_records r WHERE r.feed = f.id
                    ORDER BY r.written_at LIMIT 1) AS near FROM data_feeds f) AS edges
            """).first
        if case .integer(let near)? = row?["near"] { return near }
        return nil
    }

    /// Deletes what has no more records: none is before `edge`.
    private func clean(before edge: Int64) throws(AuthorityError) {
        try send(
            "DELETE FROM data_rollups WHERE minute < $1",
            [.integer(edge == .max ? edge : edge / 60_000)])
        try send("DELETE FROM data_series WHERE written_at < $1", [.integer(edge)])
        try send("DELETE FROM data_objects WHERE updated_at < $1", [.integer(edge)])
        _ = try rows("""
            DELETE FROM data_feeds f
            WHERE NOT EXISTS (SELECT 1 FROM data_records r WHERE r.feed = f.id)
            RETURNING id
            """)
    }

    /// Deletes a part of a board's records. Returns whether more are left.
    func deleteRecords(
        of board: InstallationID, owner: UserID, limit: Int64
    ) throws(AuthorityError) -> Bool {
        let values: [SQLValue] = [.text(owner.description), .text(board.description)]
        let feeds = try rows(
            "SELECT id FROM data_feeds WHERE owner = $1 AND board = $2", values)
        for feed in feeds {
            let id = try feed.integer("id")
            // Up to a time, because a record has no key: with at most `limit` to that time.
            let deleted = try counted("""
                WITH gone AS (
                    DELETE FROM data_records WHERE feed = $1 AND written_at <= coalesce((
                        SELECT written_at FROM data_records WHERE feed = $1
                        ORDER BY written_at OFFSET $2 LIMIT 1), 'infinity')
                    RETURNING written_at, octet_length(payload) AS size
                )
                """, [.integer(id), .integer(limit - 1)])
            guard deleted < limit else { return true }
            try send("""
                DELETE FROM data_rollups
                WHERE series IN (SELECT id FROM data_series WHERE feed = $1)
                """, [.integer(id)])
            try send("DELETE FROM data_series WHERE feed = $1", [.integer(id)])
            try send("DELETE FROM data_feeds WHERE id = $1", [.integer(id)])
        }
        try send("DELETE FROM data_objects WHERE owner = $1 AND board = $2", values)
        return false
    }
}
