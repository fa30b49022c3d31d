package import AuthorityCore
import Foundation
import GRDB
import Gate
package import Sessions

extension SQLiteDataStore {
    package func series(_ query: SeriesQuery) async throws(AuthorityError) -> [SeriesBucket] {
        try await read { database in try SeriesReading(query: query, database: database).run() }
    }

    package func newest(
        of board: InstallationID, owner: UserID, limit: Int
    ) async throws(AuthorityError) -> [NewestValue] {
        try await read { database in
            let rows = try Row.fetchAll(
                database.cachedStatement(sql: """
                    SELECT f.class AS class, s.object AS object, s.field AS field,
                        s.number AS number, s.text AS text, s.written_at AS written_at,
                        s.received_at AS received_at
                    FROM feeds f CROSS JOIN series s ON s.feed = f.id
                    WHERE f.owner = ? AND f.board = ?
                    ORDER BY s.written_at DESC, s.id LIMIT ?
                    """),
                arguments: [owner.description, board.description, limit])
            return try rows.map { row in
                let value: NewestValue.Value
                if let number = row["number"] as Double? { value = .number(number) }
                else { value = .text(row["text"] as String? ?? "") }
                guard let className = ClassName(row["class"] as String) else {
                    throw damagedData("class")
                }
                return NewestValue(
                    className: className, record: RecordID(row["object"] as String),
                    field: row["field"], value: value,
                    writtenAt: Timestamp(milliseconds: row["written_at"]),
                    receivedAt: Timestamp(milliseconds: row["received_at"]))
            }
        }
    }
}

private struct SeriesReading {
    let query: SeriesQuery
    let database: Database

    func run() throws -> [SeriesBucket] {
        guard let (feed, series) = try place() else { return [] }
        let range = SeriesRange(query)
        guard range.isExact else { return try fromMinutes(series, range) }
        let count = try database.cachedStatement(sql: """
            SELECT sum(count) AS n FROM rollups
            WHERE series = ? AND minute >= ? AND minute <= ?
            """).first([series, range.since / 60_000, range.until / 60_000])?["n"] as Int64?
        return (count ?? 0) <= SeriesRange.exactLimit
            ? try fromRecords(feed, range) : try fromMinutes(series, range)
    }

    private func place() throws -> (feed: Int64, series: Int64)? {
        try database.cachedStatement(sql: """
            SELECT f.id AS feed, s.id AS series
            FROM feeds f CROSS JOIN series s ON s.feed = f.id
            WHERE f.owner = ? AND f.board = ? AND f.class = ? AND s.object = ? AND s.field = ?
            """).first([
                query.owner.description, query.board.description, query.className.description,
                query.record?.description ?? "", query.field,
            ]).map { ($0["feed"], $0["series"]) }
    }

    private func fromMinutes(_ series: Int64, _ range: SeriesRange) throws -> [SeriesBucket] {
        let statement = try database.cachedStatement(sql: """
            SELECT minute * 60000 / ?4 AS bucket, min(least) AS least, max(greatest) AS greatest,
                sum(sum) AS sum, sum(count) AS count, max(late) AS late
            FROM rollups WHERE series = ?1 AND minute >= ?2 AND minute * 60000 < ?3
            GROUP BY 1 ORDER BY 1 LIMIT \(SeriesRange.limit)
            """)
        statement.setUncheckedArguments([
            series, range.since / 60_000, range.until, range.step,
        ])
        return try Row.fetchAll(statement).map { row in
            SeriesBucket(
                start: Timestamp(milliseconds: (row["bucket"] as Int64) * range.step),
                least: row["least"], greatest: row["greatest"], sum: row["sum"],
                count: row["count"], isLate: row["late"])
        }
    }

    private func fromRecords(_ feed: Int64, _ range: SeriesRange) throws -> [SeriesBucket] {
        let statement = try database.cachedStatement(sql: """
            SELECT r.id AS id, r.wait AS wait, r.payload AS payload
            FROM (VALUES (0), (1), (2)) AS k
            CROSS JOIN records r ON r.feed = ?1 AND r.kind = k.column1
            WHERE r.id >= ?2 AND r.id < ?3 AND r.object IS ?4
            """)
        statement.setUncheckedArguments([
            feed, min(range.since, RecordRowID.latest) << RecordRowID.bits,
            min(range.until, RecordRowID.latest) << RecordRowID.bits, query.record?.description,
        ])
        let rows = try Row.fetchCursor(statement)
        var buckets = ExactBuckets(field: query.field, step: range.step)
        while let row = try rows.next() {
            buckets.add(
                Array(row["payload"] as Data), at: (row["id"] as Int64) >> RecordRowID.bits,
                wait: row["wait"])
        }
        return buckets.inOrder
    }
}
