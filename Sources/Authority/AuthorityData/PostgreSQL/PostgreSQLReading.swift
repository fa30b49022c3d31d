package import AuthorityCore
import Gate
import PostgreSQLClient
package import Sessions

extension PostgreSQLDataStore {
    package func records(_ query: RecordQuery) async throws(AuthorityError) -> [DataRecord] {
        try await read { tables throws(AuthorityError) in
            try RecordWindows(query: query, tables: tables).run()
        }
    }

    package func series(_ query: SeriesQuery) async throws(AuthorityError) -> [SeriesBucket] {
        try await read { tables throws(AuthorityError) in
            try SeriesRows(query: query, tables: tables).run()
        }
    }

    package func boards(of owner: UserID) async throws(AuthorityError) -> [InstallationID] {
        try await read { tables throws(AuthorityError) in
            let rows = try tables.rows("""
                SELECT DISTINCT board FROM data_feeds f
                WHERE owner = $1 AND EXISTS (SELECT 1 FROM data_records r WHERE r.feed = f.id)
                ORDER BY board LIMIT \(keptBoardLimit)
                """, [.text(owner.description)])
            var boards: [InstallationID] = []
            for row in rows { boards.append(try row.parsed("board") { InstallationID($0) }) }
            return boards
        }
    }

    package func newest(
        of board: InstallationID, owner: UserID, limit: Int
    ) async throws(AuthorityError) -> [NewestValue] {
        try await read { tables throws(AuthorityError) in
            let rows = try tables.rows("""
                SELECT f.class AS class, s.object AS object, s.field AS field,
                    s.number::text AS number, s.text AS text, s.written_at AS written_at,
                    s.received_at AS received_at
                FROM data_feeds f JOIN data_series s ON s.feed = f.id
                WHERE f.owner = $1 AND f.board = $2
                ORDER BY s.written_at DESC, s.id LIMIT $3
                """, [
                    .text(owner.description), .text(board.description), .integer(Int64(limit)),
                ])
            var values: [NewestValue] = []
            for row in rows {
                let isNumber = row["number"] != .null
                values.append(NewestValue(
                    className: try row.parsed("class") { ClassName($0) },
                    record: RecordID(try row.text("object")), field: try row.text("field"),
                    value: isNumber
                        ? .number(try row.number("number")) : .text(row.optionalText("text") ?? ""),
                    writtenAt: try row.time("written_at"),
                    receivedAt: try row.time("received_at")))
            }
            return values
        }
    }
}

/// Reads records of several feeds in one order, a window of time after the other.
private struct RecordWindows {
    let query: RecordQuery
    let tables: PostgreSQLTables

    private static let firstWindow: Int64 = 10_000
    /// The year 9999, and a little more.
    private static let latest: Int64 = 253_402_300_800_000

    func run() throws(AuthorityError) -> [DataRecord] {
        var low = query.since?.milliseconds ?? 0
        var high = query.until?.milliseconds ?? Self.latest
        if let after = query.after?.writtenAt.milliseconds {
            if query.isDescending { high = min(high, after + 1) } else { low = max(low, after) }
        }
        var found: [DataRecord] = []
        var width = Self.firstWindow
        while found.count < query.limit, low < high, let edge = try edge(low, high) {
            let window = query.isDescending
                ? max(edge + 1 - width, low)..<edge + 1 : edge..<min(edge + width, high)
            found += try rows(window, limit: query.limit - found.count)
            if query.isDescending { high = window.lowerBound } else { low = window.upperBound }
            width = min(width * 4, Self.latest)
        }
        return found
    }

    private var condition: String {
        let isClass = query.className == nil && query.classes != nil
            ? "strpos($3, ' ' || f.class || ' ') > 0" : "f.class = $3"
        return "f.owner = $1 AND ($2::text IS NULL OR f.board = $2) "
            + "AND ($3::text IS NULL OR \(isClass))"
    }

    private var order: String { query.isDescending ? "DESC" : "ASC" }

    private func values(_ window: Range<Int64>) -> [SQLValue] {
        [
            .text(query.owner.description), .optional(query.board?.description),
            .optional(query.classText), .integer(window.lowerBound),
            .integer(window.upperBound),
        ]
    }

    /// The time of the nearest record within the bounds.
    private func edge(_ low: Int64, _ high: Int64) throws(AuthorityError) -> Int64? {
        let pick = query.isDescending ? "max" : "min"
        let row = try tables.rows("""
            SELECT \(PostgreSQLDataSchema.milliseconds("\(pick)(near)")) AS near FROM (
                SELECT (
                    SELECT r.written_at FROM data_records r
                    WHERE r.feed = f.id AND r.written_at >= \(PostgreSQLDataSchema.time("$4"))
                        AND r.written_at < \(PostgreSQLDataSchema.time("$5"))
                    ORDER BY r.written_at \(order) LIMIT 1) AS near
                FROM data_feeds f WHERE \(condition)) AS edges
            """, values(low..<high)).first
        if case .integer(let near)? = row?["near"] { return near }
        return nil
    }

    private func rows(
        _ window: Range<Int64>, limit: Int
    ) throws(AuthorityError) -> [DataRecord] {
        let sign = query.isDescending ? "<" : ">"
        let found = try tables.rows("""
            SELECT \(PostgreSQLTables.recordColumns)
            FROM data_feeds f JOIN data_records r ON r.feed = f.id
            WHERE \(condition) AND r.written_at >= \(PostgreSQLDataSchema.time("$4"))
                AND r.written_at < \(PostgreSQLDataSchema.time("$5"))
                AND ($6::bigint IS NULL OR (r.written_at, f.board, r.seq)
                    \(sign) (\(PostgreSQLDataSchema.time("$6")), $7::text COLLATE "C", $8::bigint))
            ORDER BY r.written_at \(order), f.board \(order), r.seq \(order) LIMIT $9
            """, values(window) + [
                query.after.map { .integer($0.writtenAt.milliseconds) } ?? .null,
                .optional(query.after?.board.description),
                query.after.map { .integer($0.sequence) } ?? .null, .integer(Int64(limit)),
            ])
        var records: [DataRecord] = []
        for row in found { records.append(try DataRecord(row)) }
        return records
    }
}

extension SQLValue {
    static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
}

private struct SeriesRows {
    let query: SeriesQuery
    let tables: PostgreSQLTables

    func run() throws(AuthorityError) -> [SeriesBucket] {
        let place = try tables.rows("""
            SELECT f.id AS feed, s.id AS series
            FROM data_feeds f JOIN data_series s ON s.feed = f.id
            WHERE f.owner = $1 AND f.board = $2 AND f.class = $3 AND s.object = $4 AND s.field = $5
            """, [
                .text(query.owner.description), .text(query.board.description),
                .text(query.className.description), .text(query.record?.description ?? ""),
                .text(query.field),
            ]).first
        // PostgreSQL cannot store a NUL, so no field has one.
        guard let place else { return [] }
        let (feed, series) = (try place.integer("feed"), try place.integer("series"))
        let range = SeriesRange(query)
        guard range.isExact else { return try fromMinutes(series, range) }
        let count = try tables.rows("""
            SELECT coalesce(sum(count), 0)::bigint AS n FROM data_rollups
            WHERE series = $1 AND minute >= $2 AND minute <= $3
            """, [
                .integer(series), .integer(range.since / 60_000), .integer(range.until / 60_000),
            ]).first?.integer("n") ?? 0
        return count <= SeriesRange.exactLimit
            ? try fromRecords(feed, range) : try fromMinutes(series, range)
    }

    private func fromMinutes(
        _ series: Int64, _ range: SeriesRange
    ) throws(AuthorityError) -> [SeriesBucket] {
        let rows = try tables.rows("""
            SELECT minute * 60000 / $4 AS bucket, min(least)::text AS least,
                max(greatest)::text AS greatest, sum(sum)::text AS sum,
                sum(count)::bigint AS count, bool_or(late) AS late
            FROM data_rollups WHERE series = $1 AND minute >= $2 AND minute < $3
            GROUP BY 1 ORDER BY 1 LIMIT \(SeriesRange.limit)
            """, [
                .integer(series), .integer(range.since / 60_000),
                .integer((range.until + 59_999) / 60_000), .integer(range.step),
            ])
        var buckets: [SeriesBucket] = []
        for row in rows {
            buckets.append(SeriesBucket(
                start: Timestamp(milliseconds: try row.integer("bucket") * range.step),
                least: try row.number("least"), greatest: try row.number("greatest"),
                sum: try row.number("sum"), count: Int(try row.integer("count")),
                isLate: row["late"] == .bool(true)))
        }
        return buckets
    }

    private func fromRecords(
        _ feed: Int64, _ range: SeriesRange
    ) throws(AuthorityError) -> [SeriesBucket] {
        let rows = try tables.rows("""
            SELECT \(PostgreSQLDataSchema.milliseconds("r.written_at")) AS written,
                r.wait AS wait, r.payload AS payload
            FROM data_records r
            WHERE r.feed = $1 AND r.written_at >= \(PostgreSQLDataSchema.time("$2"))
                AND r.written_at < \(PostgreSQLDataSchema.time("$3")) AND r.kind <= 2
                AND r.object IS NOT DISTINCT FROM $4::text
            """, [
                .integer(feed), .integer(range.since), .integer(range.until),
                .optional(query.record?.description),
            ])
        var buckets = ExactBuckets(field: query.field, step: range.step)
        for row in rows {
            buckets.add(
                try row.blob("payload"), at: try row.integer("written"),
                wait: try row.integer("wait"))
        }
        return buckets.inOrder
    }
}
