package import AuthorityCore
import Foundation
import GRDB
import Gate
import Sessions

extension SQLiteDataStore {
    package func objects(_ query: ObjectQuery) async throws(AuthorityError) -> ObjectPage {
        try await read { database in
            let reading = ObjectReading(query: query, database: database)
            return try ObjectList(query: query, tables: reading).page()
        }
    }
}

/// The objects of a query in one snapshot.
private struct ObjectReading: ObjectTables {
    let query: ObjectQuery
    let database: Database

    func object(_ id: RecordID) throws(AuthorityError) -> DataObject? {
        let key = ObjectKey(owner: query.owner, className: query.className, id: id)
        if let changed = try StoredRows.changed(key, in: database) {
            guard !query.ofOneBoard || !changed.isMixed else { return nil }
            return DataObject(id, of: query.className, changed)
        }
        guard let (record, isChanged) = try StoredRows.creation(key, in: database), !isChanged
        else { return nil }
        return DataObject(record)
    }

    private var order: String { query.isDescending ? "DESC" : "ASC" }

    /// The ids of the records within both bounds: for these objects both times are the same.
    private var ids: (low: Int64, high: Int64) {
        var (low, high) = (Int64(0), Int64.max)
        for bounds in [query.createdAt, query.updatedAt].compactMap(\.self) {
            low = max(low, RecordRowID.first(at: bounds.lowerBound))
            high = min(high, RecordRowID.first(at: bounds.upperBound) | RecordRowID.mask)
        }
        return (low, high)
    }

    private var feeds: String {
        "f.owner = ?1 AND f.class = ?2" + (query.board == nil ? "" : " AND f.board = ?3")
    }

    private var unmixed: String { query.ofOneBoard ? "AND mixed = 0" : "" }

    private var values: [(any DatabaseValueConvertible)?] {
        [query.owner.description, query.className.description, query.board?.description]
    }

    func created(
        after place: ObjectPlace?, limit: Int, withContent: Bool
    ) throws(AuthorityError) -> [ListedObject] {
        try StoredRows.asStore {
            var (low, high) = ids
            if let place {
                if query.isDescending { high = min(high, place.number - 1) } else {
                    low = max(low, place.number + 1)
                }
            }
            var found: [ListedObject] = []
            var width: Int64 = 60_000
            while found.count < limit, low <= high, let edge = try edge(low, high) {
                let time = edge >> RecordRowID.bits
                let window = query.isDescending
                    ? max(low, max(time - width, 0) << RecordRowID.bits)...edge
                    : edge...min(high, end(time + width))
                found += try part(window, limit: limit - found.count, withContent)
                if query.isDescending { high = window.lowerBound - 1 } else {
                    guard window.upperBound < .max else { break }
                    low = window.upperBound + 1
                }
                width = min(width * 8, RecordRowID.latest)
            }
            return found
        }
    }

    private func end(_ time: Int64) -> Int64 {
        time >= RecordRowID.latest ? .max : time << RecordRowID.bits
    }

    private func edge(_ low: Int64, _ high: Int64) throws -> Int64? {
        let pick = query.isDescending ? "max" : "min"
        return try database.cachedStatement(sql: """
            SELECT \(pick)(near) AS id FROM (
                SELECT (
                    SELECT r.id FROM records r
                    WHERE r.feed = f.id AND r.kind = 0 AND r.id >= ?4 AND r.id <= ?5 AND ?3 IS ?3
                    ORDER BY r.id \(order) LIMIT 1) AS near
                FROM feeds f WHERE \(feeds))
            """).first(values + [low, high])?["id"]
    }

    private func part(
        _ window: ClosedRange<Int64>, limit: Int, _ withContent: Bool
    ) throws -> [ListedObject] {
        let columns = withContent ? "\(StoredRows.recordColumns), f.board AS board" : "r.id AS id"
        let statement = try database.cachedStatement(sql: """
            SELECT \(columns)
            FROM feeds f CROSS JOIN records r ON r.feed = f.id AND r.kind = 0
            WHERE \(feeds) AND ?3 IS ?3 AND r.id >= ?4 AND r.id <= ?5
            ORDER BY r.id \(order) LIMIT ?6
            """)
        statement.setUncheckedArguments(StatementArguments(
            values + [window.lowerBound, window.upperBound, limit]))
        let rows = try Row.fetchCursor(statement)
        var found: [ListedObject] = []
        while let row = try rows.next() {
            let id = row["id"] as Int64
            let place = ObjectPlace(time: id >> RecordRowID.bits, number: id)
            guard withContent else {
                found.append(ListedObject(place: place, object: nil))
                continue
            }
            guard let board = InstallationID(row["board"] as String) else {
                throw damagedData("board")
            }
            let record = try StoredRows.record(row, board, query.className)
            found.append(ListedObject(
                place: place, object: DataObject(record), bytes: record.payload.count))
        }
        return found
    }

    func changed(
        after place: ObjectPlace?, limit: Int
    ) throws(AuthorityError) -> [ListedObject] {
        try StoredRows.asStore {
            let column = query.order == .createdAt ? "created_at" : "updated_at"
            let sign = query.isDescending ? "<" : ">"
            let statement = try database.cachedStatement(sql: """
                SELECT \(StoredRows.objectColumns), \(column) AS place FROM objects f
                WHERE \(feeds) AND ?3 IS ?3 AND members IS NOT NULL
                    AND created_at BETWEEN ?4 AND ?5 AND updated_at BETWEEN ?6 AND ?7
                    \(unmixed)
                    AND (?8 IS NULL OR (\(column), object) \(sign) (?8, ?9))
                ORDER BY \(column) \(order), object \(order) LIMIT ?10
                """)
            statement.setUncheckedArguments(StatementArguments(
                values + bounds(after: place) + [place?.time, place?.id, limit]))
            let rows = try Row.fetchCursor(statement)
            var found: [ListedObject] = []
            while let row = try rows.next() {
                guard let id = RecordID(row["object"] as String) else {
                    throw damagedData("object")
                }
                found.append(ListedObject(
                    place: ObjectPlace(time: row["place"], id: id.description),
                    object: DataObject(id, of: query.className, try StoredRows.changed(row)),
                    bytes: (row["members"] as Data?)?.count ?? 0))
            }
            return found
        }
    }

    private var bounds: [(any DatabaseValueConvertible)?] { bounds(after: nil) }

    private func bounds(after place: ObjectPlace?) -> [(any DatabaseValueConvertible)?] {
        query.times(after: place).flatMap { [$0.lowerBound, $0.upperBound] }
    }

    func count() throws(AuthorityError) -> Int {
        try StoredRows.asStore {
            let (low, high) = ids
            let created = try database.cachedStatement(sql: """
                SELECT count(*) AS n
                FROM feeds f CROSS JOIN records r ON r.feed = f.id AND r.kind = 0
                WHERE \(feeds) AND ?3 IS ?3 AND r.id >= ?4 AND r.id <= ?5
                """).first(values + [low, high])?["n"] as Int?
            let changed = try database.cachedStatement(sql: """
                SELECT count(*) AS n FROM objects f
                WHERE \(feeds) AND ?3 IS ?3 AND members IS NOT NULL
                    AND created_at BETWEEN ?4 AND ?5 AND updated_at BETWEEN ?6 AND ?7 \(unmixed)
                """).first(values + bounds)?["n"] as Int?
            return (created ?? 0) + (changed ?? 0)
        }
    }
}
