package import AuthorityCore
import Gate
import PostgreSQLClient
import Sessions
import Wire

extension PostgreSQLDataStore {
    package func objects(_ query: ObjectQuery) async throws(AuthorityError) -> ObjectPage {
        try await read { tables throws(AuthorityError) in
            try ObjectList(
                query: query, tables: PostgreSQLObjectTables(query: query, tables: tables)
            ).page()
        }
    }
}

private struct PostgreSQLObjectTables: ObjectTables {
    let query: ObjectQuery
    let tables: PostgreSQLTables

    private static let latest: Int64 = 253_402_300_800_000

    func object(_ id: RecordID) throws(AuthorityError) -> DataObject? {
        let key = ObjectKey(owner: query.owner, className: query.className, id: id)
        if let changed = try tables.changed([key])[key] {
            guard !query.ofOneBoard || !changed.isMixed else { return nil }
            return DataObject(id, of: query.className, changed)
        }
        guard let (record, isChanged) = try tables.keptCreation(key), !isChanged else {
            return nil
        }
        return DataObject(record)
    }

    private var order: String { query.isDescending ? "DESC" : "ASC" }
    private var sign: String { query.isDescending ? "<" : ">" }

    private var feeds: String {
        "f.owner = $1 AND f.class = $2 AND ($3::text IS NULL OR f.board = $3)"
    }

    private var values: [SQLValue] {
        [
            .text(query.owner.description), .text(query.className.description),
            .optional(query.board?.description),
        ]
    }

    /// From the first time to before the last.
    private var times: (low: Int64, high: Int64) {
        var (low, high) = (Int64(0), Self.latest)
        for bounds in [query.createdAt, query.updatedAt].compactMap(\.self) {
            low = max(low, bounds.lowerBound.milliseconds)
            high = min(high, bounds.upperBound.milliseconds + 1)
        }
        return (low, high)
    }

    func created(
        after place: ObjectPlace?, limit: Int, withContent: Bool
    ) throws(AuthorityError) -> [ListedObject] {
        var (low, high) = times
        if let place {
            if query.isDescending { high = min(high, place.time + 1) } else {
                low = max(low, place.time)
            }
        }
        var found: [ListedObject] = []
        var width: Int64 = 60_000
        while found.count < limit, low < high, let edge = try edge(low, high) {
            let window = query.isDescending
                ? max(edge + 1 - width, low)..<edge + 1 : edge..<min(edge + width, high)
            found += try part(
                window, after: place, limit: limit - found.count, withContent: withContent)
            if query.isDescending { high = window.lowerBound } else { low = window.upperBound }
            width = min(width * 8, Self.latest)
        }
        return found
    }

    private func edge(_ low: Int64, _ high: Int64) throws(AuthorityError) -> Int64? {
        let pick = query.isDescending ? "max" : "min"
        let row = try tables.rows("""
            SELECT \(PostgreSQLDataSchema.milliseconds("\(pick)(near)")) AS near FROM (
                SELECT (
                    SELECT r.written_at FROM data_records r
                    WHERE r.feed = f.id AND r.kind = 0
                        AND r.written_at >= \(PostgreSQLDataSchema.time("$4"))
                        AND r.written_at < \(PostgreSQLDataSchema.time("$5"))
                    ORDER BY r.written_at \(order) LIMIT 1) AS near
                FROM data_feeds f WHERE \(feeds)) AS edges
            """, values + [.integer(low), .integer(high)]).first
        if case .integer(let near)? = row?["near"] { return near }
        return nil
    }

    private func part(
        _ window: Range<Int64>, after place: ObjectPlace?, limit: Int, withContent: Bool
    ) throws(AuthorityError) -> [ListedObject] {
        let keys = """
            \(PostgreSQLDataSchema.milliseconds("r.written_at")) AS written, r.feed AS feed, \
            r.seq AS seq
            """
        let rows = try tables.rows("""
            SELECT \(withContent ? PostgreSQLTables.recordColumns : keys)
            FROM data_feeds f JOIN data_records r ON r.feed = f.id AND r.kind = 0
            WHERE \(feeds) AND r.written_at >= \(PostgreSQLDataSchema.time("$4"))
                AND r.written_at < \(PostgreSQLDataSchema.time("$5"))
                AND ($6::bigint IS NULL OR (r.written_at, r.feed, r.seq)
                    \(sign) (\(PostgreSQLDataSchema.time("$6")), $7::bigint, $8::bigint))
            ORDER BY r.written_at \(order), r.feed \(order), r.seq \(order) LIMIT $9
            """, values + [
                .integer(window.lowerBound), .integer(window.upperBound),
                place.map { .integer($0.time) } ?? .null,
                place.map { .integer($0.number) } ?? .null,
                place.map { .integer($0.second) } ?? .null, .integer(Int64(limit)),
            ])
        var found: [ListedObject] = []
        for row in rows {
            let place = ObjectPlace(
                time: try row.integer("written"), number: try row.integer("feed"),
                second: try row.integer("seq"))
            let record = withContent ? try DataRecord(row) : nil
            found.append(ListedObject(
                place: place, object: record.flatMap { DataObject($0) },
                bytes: record?.payload.count ?? 0))
        }
        return found
    }

    private var changedTimes: String {
        """
        f.members IS NOT NULL AND f.created_at BETWEEN $4 AND $5 \
        AND f.updated_at BETWEEN $6 AND $7\(query.ofOneBoard ? " AND NOT f.mixed" : "")
        """
    }

    private var bounds: [SQLValue] { bounds(after: nil) }

    private func bounds(after place: ObjectPlace?) -> [SQLValue] {
        query.times(after: place).flatMap { [.integer($0.lowerBound), .integer($0.upperBound)] }
    }

    func changed(
        after place: ObjectPlace?, limit: Int
    ) throws(AuthorityError) -> [ListedObject] {
        let column = query.order == .createdAt ? "f.created_at" : "f.updated_at"
        let rows = try tables.rows("""
            SELECT f.*, \(column) AS place FROM data_objects f
            WHERE \(feeds) AND \(changedTimes)
                AND ($8::bigint IS NULL
                    OR (\(column), f.object) \(sign) ($8::bigint, $9::text COLLATE "C"))
            ORDER BY \(column) \(order), f.object \(order) LIMIT $10
            """, values + bounds(after: place) + [
                place.map { .integer($0.time) } ?? .null, place.map { .text($0.id) } ?? .null,
                .integer(Int64(limit)),
            ])
        var found: [ListedObject] = []
        for row in rows {
            let id = try row.parsed("object") { RecordID($0) }
            let object = try ChangedObject(row)
            found.append(ListedObject(
                place: ObjectPlace(time: try row.integer("place"), id: id.description),
                object: DataObject(id, of: query.className, object),
                bytes: object.members.map { JSONValue.object($0).bytes.count } ?? 0))
        }
        return found
    }

    func count() throws(AuthorityError) -> Int {
        let (low, high) = times
        let created = try tables.rows("""
            SELECT count(*) AS n FROM data_feeds f JOIN data_records r
                ON r.feed = f.id AND r.kind = 0
            WHERE \(feeds) AND r.written_at >= \(PostgreSQLDataSchema.time("$4"))
                AND r.written_at < \(PostgreSQLDataSchema.time("$5"))
            """, values + [.integer(low), .integer(high)]).first?.integer("n") ?? 0
        let changed = try tables.rows("""
            SELECT count(*) AS n FROM data_objects f WHERE \(feeds) AND \(changedTimes)
            """, values + bounds).first?.integer("n") ?? 0
        return Int(created + changed)
    }
}
