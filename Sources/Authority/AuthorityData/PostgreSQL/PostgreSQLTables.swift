import AuthorityCore
import AuthorityStore
import Foundation
import Gate
import PostgreSQLClient
import Sessions
import Wire

/// The tables in PostgreSQL within one write transaction. A whole batch is one JSON text, so that
/// each table costs one statement.
struct PostgreSQLTables {
    let connection: PostgresConnection

    func rows(
        _ sql: String, _ values: [SQLValue] = []
    ) throws(AuthorityError) -> [SQLRow] {
        do throws(PostgresError) {
            return try connection.query(sql, values)
        } catch {
            throw error.authorityError
        }
    }

    /// Queues a statement. Its error comes with a later one.
    func send(_ sql: String, _ values: [SQLValue]) throws(AuthorityError) {
        do throws(PostgresError) {
            try connection.send(sql, values)
        } catch {
            throw error.authorityError
        }
    }

    /// Runs a statement whose parameter is a list.
    func rows(_ sql: String, list: [JSONValue]) throws(AuthorityError) -> [SQLRow] {
        list.isEmpty ? [] : try rows(sql, [.text(JSONValue.array(list).text)])
    }

    func send(_ sql: String, list: [JSONValue]) throws(AuthorityError) {
        guard !list.isEmpty else { return }
        try send(sql, [.text(JSONValue.array(list).text)])
    }
}

extension SQLRow {
    func integer(_ column: String) throws(AuthorityError) -> Int64 {
        guard case .integer(let value)? = self[column] else { throw damagedData(column) }
        return value
    }

    func text(_ column: String) throws(AuthorityError) -> String {
        guard let text = optionalText(column) else { throw damagedData(column) }
        return text
    }

    func optionalText(_ column: String) -> String? {
        if case .text(let text)? = self[column] { text } else { nil }
    }

    func blob(_ column: String) throws(AuthorityError) -> [UInt8] {
        guard case .blob(let bytes)? = self[column] else { throw damagedData(column) }
        return bytes
    }

    func number(_ column: String) throws(AuthorityError) -> Double {
        guard let number = Double(try text(column)) else { throw damagedData(column) }
        return number
    }

    func parsed<T>(
        _ column: String, _ parse: (String) -> T?
    ) throws(AuthorityError) -> T {
        guard let value = parse(try text(column)) else { throw damagedData(column) }
        return value
    }

    func time(_ column: String) throws(AuthorityError) -> Timestamp {
        Timestamp(milliseconds: try integer(column))
    }

    func feedKey() throws(AuthorityError) -> FeedKey {
        FeedKey(
            owner: try parsed("owner") { UserID($0) },
            board: try parsed("board", InstallationID.init),
            className: try parsed("class") { ClassName($0) })
    }
}

private func base64(_ bytes: [UInt8]) -> JSONValue { .string(Data(bytes).base64EncodedString()) }

private func text(_ value: some CustomStringConvertible) -> JSONValue {
    .string(value.description)
}

extension PostgreSQLTables: DataTables {
    func feeds(_ keys: Set<FeedKey>) throws(AuthorityError) -> [FeedKey: Int64] {
        let found = try rows("""
            WITH given AS (
                SELECT * FROM json_to_recordset(($1::text)::json)
                    AS g(owner text, board text, class text)
            ), made AS (
                INSERT INTO data_feeds (owner, board, class)
                SELECT owner, board, class FROM (
                    SELECT g.*, row_number() OVER (
                        PARTITION BY g.owner, g.board ORDER BY g.class) AS place
                    FROM given g WHERE NOT EXISTS (
                        SELECT 1 FROM data_feeds f WHERE f.owner = g.owner
                            AND f.board = g.board AND f.class = g.class)
                ) AS n WHERE place + (
                    SELECT count(*) FROM data_feeds f
                    WHERE f.owner = n.owner AND f.board = n.board) <= \(KeepCount.classLimit)
                RETURNING id, owner, board, class
            )
            SELECT id, owner, board, class FROM made
            UNION ALL
            SELECT f.id, f.owner, f.board, f.class FROM given g JOIN data_feeds f
                ON f.owner = g.owner AND f.board = g.board AND f.class = g.class
            """, list: keys.map { key in
                .object([
                    "owner": text(key.owner), "board": text(key.board),
                    "class": text(key.className),
                ])
            })
        var feeds: [FeedKey: Int64] = [:]
        for row in found { feeds[try row.feedKey()] = try row.integer("id") }
        return feeds
    }

    func seen(
        _ boards: Set<InstallationID>
    ) throws(AuthorityError) -> [InstallationID: SequenceRanges] {
        let found = try rows("""
            SELECT board, ranges FROM data_seen
            WHERE board IN (SELECT json_array_elements_text(($1::text)::json))
            """, list: boards.map(text))
        var seen: [InstallationID: SequenceRanges] = [:]
        for row in found {
            guard let ranges = SequenceRanges(bytes: try row.blob("ranges")) else {
                throw damagedData("ranges")
            }
            seen[try row.parsed("board", InstallationID.init)] = ranges
        }
        return seen
    }

    func save(_ seen: [InstallationID: SequenceRanges]) throws(AuthorityError) {
        try send("""
            INSERT INTO data_seen (board, ranges)
            SELECT board, decode(ranges, 'base64')
            FROM json_to_recordset(($1::text)::json) AS g(board text, ranges text)
            ON CONFLICT (board) DO UPDATE SET ranges = excluded.ranges
            """, list: seen.map { board, ranges in
                .object(["board": text(board), "ranges": base64(ranges.bytes)])
            })
    }

    func insert(_ new: [RecordRow]) throws(AuthorityError) {
        try send("""
            INSERT INTO data_records (written_at, feed, seq, kind, wait, app, object, payload)
            SELECT \(PostgreSQLDataSchema.time("t")), f, s, k, w, a, o, decode(p, 'base64')
            FROM json_to_recordset(($1::text)::json)
                AS g(t bigint, f bigint, s bigint, k smallint, w bigint, a text, o text, p text)
            """, list: new.map { row in
                let record = row.record
                let wait = record.receivedAt.milliseconds - record.writtenAt.milliseconds
                return .object([
                    "t": .integer(record.writtenAt.milliseconds), "f": .integer(row.feed),
                    "s": .integer(record.sequence), "k": .integer(row.kind.rawValue),
                    "w": .integer(wait), "a": text(record.app),
                    "o": record.path.record.map(text) ?? .null, "p": base64(record.payload),
                ])
            })
        var days: [Int64: (records: Int64, bytes: Int64)] = [:]
        for row in new {
            let day = row.record.writtenAt.milliseconds / PostgreSQLDataSchema.day
            let size = Int64(row.record.payload.count) + PostgreSQLDataStore.rowBytes
            let known = days[day] ?? (0, 0)
            days[day] = (known.records + 1, known.bytes + size)
        }
        try count(days.mapValues { ($0.records, $0.bytes) })
    }

    /// Adds to the counts of the days. Days without a partition count as the past.
    func count(_ days: [Int64: (records: Int64, bytes: Int64)]) throws(AuthorityError) {
        try send("""
            UPDATE data_days d SET records = d.records + g.records, bytes = d.bytes + g.bytes
            FROM (
                SELECT coalesce(k.day, \(PostgreSQLDataSchema.past)) AS day,
                    sum(r)::bigint AS records, sum(b)::bigint AS bytes
                FROM json_to_recordset(($1::text)::json) AS j(d bigint, r bigint, b bigint)
                LEFT JOIN data_days k ON k.day = j.d GROUP BY 1
            ) AS g WHERE d.day = g.day
            """, list: days.map { day, count in
                .object([
                    "d": .integer(day), "r": .integer(count.records), "b": .integer(count.bytes),
                ])
            })
    }

    func add(_ rollups: [RollupKey: Rollup]) throws(AuthorityError) {
        try send("""
            INSERT INTO data_rollups AS m (series, minute, least, greatest, sum, count, late)
            SELECT s, m, l, g, t, c, w FROM json_to_recordset(($1::text)::json) AS j(
                s bigint, m bigint, l double precision, g double precision, t double precision,
                c bigint, w boolean)
            ON CONFLICT (series, minute) DO UPDATE SET
                least = least(m.least, excluded.least),
                greatest = greatest(m.greatest, excluded.greatest), sum = m.sum + excluded.sum,
                count = m.count + excluded.count, late = m.late OR excluded.late
            """, list: rollups.map { key, rollup in
                .object([
                    "s": .integer(key.series), "m": .integer(key.minute),
                    "l": .number(rollup.least), "g": .number(rollup.greatest),
                    "t": .number(rollup.sum), "c": .integer(rollup.count),
                    "w": .bool(rollup.isLate),
                ])
            })
    }

    func setNewest(_ values: [Int64: NewestOfSeries]) throws(AuthorityError) {
        try send("""
            UPDATE data_series s SET number = g.n, text = g.t, written_at = g.w, received_at = g.r
            FROM json_to_recordset(($1::text)::json)
                AS g(i bigint, n double precision, t text, w bigint, r bigint)
            WHERE s.id = g.i AND s.written_at <= g.w
            """, list: values.map { id, newest in
                let (number, word): (JSONValue, JSONValue) = switch newest.value {
                case .number(let number): (.number(number), .null)
                case .text(let text): (.null, .string(text))
                }
                return .object([
                    "i": .integer(id), "n": number, "t": word,
                    "w": .integer(newest.writtenAt.milliseconds),
                    "r": .integer(newest.receivedAt.milliseconds),
                ])
            })
    }

    func series(_ keys: Set<SeriesKey>) throws(AuthorityError) -> [SeriesKey: Int64] {
        let found = try rows("""
            WITH given AS (
                SELECT * FROM json_to_recordset(($1::text)::json)
                    AS g(feed bigint, object text, field text)
            ), missing AS (
                SELECT g.*, row_number() OVER (PARTITION BY g.feed) + (
                    SELECT count(*) FROM data_series s WHERE s.feed = g.feed) AS place
                FROM given g WHERE NOT EXISTS (
                    SELECT 1 FROM data_series s WHERE s.feed = g.feed AND s.object = g.object
                        AND s.field = g.field)
            ), made AS (
                INSERT INTO data_series (feed, object, field, written_at, received_at)
                SELECT feed, object, field, 0, 0 FROM missing
                WHERE place <= \(SeriesRules.limit)
                RETURNING id, feed, object, field
            )
            SELECT id, feed, object, field FROM made
            UNION ALL
            SELECT s.id, s.feed, s.object, s.field FROM given g JOIN data_series s
                ON s.feed = g.feed AND s.object = g.object AND s.field = g.field
            """, list: keys.map { key in
                .object([
                    "feed": .integer(key.feed), "object": .string(key.record?.description ?? ""),
                    "field": .string(key.field),
                ])
            })
        var series: [SeriesKey: Int64] = [:]
        for row in found {
            let key = SeriesKey(
                feed: try row.integer("feed"), record: RecordID(try row.text("object")),
                field: try row.text("field"))
            series[key] = try row.integer("id")
        }
        return series
    }
}
