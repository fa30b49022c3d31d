package import AuthorityCore
import GRDB
import Gate
package import Sessions

extension SQLiteDataStore {
    package func records(_ query: RecordQuery) async throws(AuthorityError) -> [DataRecord] {
        try await read { database in try RecordReading(query: query, database: database).run() }
    }

    package func boards(of owner: UserID) async throws(AuthorityError) -> [InstallationID] {
        try await read { database in
            try String.fetchAll(
                database, sql: """
                    SELECT DISTINCT board FROM feeds f
                    WHERE owner = ? AND EXISTS (SELECT 1 FROM records r WHERE r.feed = f.id)
                    ORDER BY board LIMIT \(keptBoardLimit)
                    """, arguments: [owner.description]
            ).map { text in
                guard let board = InstallationID(text) else { throw damagedData("board") }
                return board
            }
        }
    }
}

/// Reads records of several feeds in one order, a window of time after the other. So a page costs
/// no more than about its own records, however many there are.
private struct RecordReading {
    let query: RecordQuery
    let database: Database

    /// The first window, in milliseconds. Each next one is four times as wide.
    private static let firstWindow: Int64 = 10_000

    func run() throws -> [DataRecord] {
        var (low, high) = bounds
        var found: [DataRecord] = []
        var width = Self.firstWindow
        while found.count < query.limit, low < high, let edge = try edge(low, high) {
            let window = window(at: edge, width)
            let rows = try rows(
                max(low, window.lowerBound), min(high, window.upperBound),
                limit: query.limit - found.count)
            found += rows
            if query.isDescending { high = window.lowerBound } else { low = window.upperBound }
            width = min(width * 4, RecordRowID.latest)
        }
        return found
    }

    /// From the first id to before the last.
    private var bounds: (Int64, Int64) {
        var low = query.since.map(RecordRowID.first) ?? 0
        var high = query.until.map(RecordRowID.first) ?? .max
        if let after = query.after {
            let first = RecordRowID.first(at: after.writtenAt)
            if query.isDescending { high = min(high, first | RecordRowID.mask) } else {
                low = max(low, first)
            }
        }
        return (low, high)
    }

    private func window(at edge: Int64, _ width: Int64) -> Range<Int64> {
        let time = edge >> RecordRowID.bits
        let (start, end) = query.isDescending
            ? (max(time + 1 - width, 0), time + 1)
            : (time, min(time + width, RecordRowID.latest))
        let high = end >= RecordRowID.latest ? Int64.max : end << RecordRowID.bits
        return start << RecordRowID.bits..<high
    }

    private static let kinds = "(VALUES (0), (1), (2), (3))"

    private var condition: String {
        "f.owner = ?1" + (query.board == nil ? "" : " AND f.board = ?2")
            + classCondition
    }

    private var classCondition: String {
        if query.className != nil { return " AND f.class = ?3" }
        return query.classes == nil ? "" : " AND instr(?3, ' ' || f.class || ' ') > 0"
    }

    private var values: [(any DatabaseValueConvertible)?] {
        [query.owner.description, query.board?.description, query.classText]
    }

    /// The nearest record within the bounds.
    private func edge(_ low: Int64, _ high: Int64) throws -> Int64? {
        let (pick, order) = query.isDescending ? ("max", "DESC") : ("min", "ASC")
        return try database.cachedStatement(sql: """
            SELECT \(pick)(near) AS id FROM (
                SELECT (
                    SELECT r.id FROM records r
                    WHERE r.feed = f.id AND r.kind = k.column1 AND r.id >= ?4 AND r.id < ?5
                        AND ?2 IS ?2 AND ?3 IS ?3
                    ORDER BY r.id \(order) LIMIT 1) AS near
                FROM feeds f CROSS JOIN \(Self.kinds) AS k WHERE \(condition))
            """).first(values + [low, high])?["id"]
    }

    private func rows(_ low: Int64, _ high: Int64, limit: Int) throws -> [DataRecord] {
        let (sign, order) = query.isDescending ? ("<", "DESC") : (">", "ASC")
        let time = "r.id >> \(RecordRowID.bits)"
        let statement = try database.cachedStatement(sql: """
            SELECT \(StoredRows.recordColumns), f.board AS board, f.class AS class
            FROM feeds f CROSS JOIN \(Self.kinds) AS k
            CROSS JOIN records r ON r.feed = f.id AND r.kind = k.column1
            WHERE \(condition) AND r.id >= ?4 AND r.id < ?5 AND ?2 IS ?2 AND ?3 IS ?3
                AND (?6 IS NULL OR (\(time), f.board, r.seq) \(sign) (?6, ?7, ?8))
            ORDER BY \(time) \(order), f.board \(order), r.seq \(order)
            LIMIT ?9
            """)
        statement.setUncheckedArguments(StatementArguments(values + [
            low, high, query.after.map { RecordRowID.first(at: $0.writtenAt) >> RecordRowID.bits },
            query.after?.board.description, query.after?.sequence, limit,
        ]))
        let rows = try Row.fetchCursor(statement)
        var found: [DataRecord] = []
        while let row = try rows.next() {
            guard let board = InstallationID(row["board"] as String),
                let className = ClassName(row["class"] as String)
            else { throw damagedData("board") }
            found.append(try StoredRows.record(row, board, className))
        }
        return found
    }
}
