import AuthorityCore
import PostgreSQLClient

/// Copies all rows of one store into another, empty store. The two may be in different databases.
///
/// Each side runs in one transaction: all rows are from the same moment, and all of them are kept
/// or none.
enum StoreCopy {
    /// The target is not empty. Nothing was copied.
    static let occupied = AuthorityError.failed(
        layer: "store", text: "the target has records already; it must be empty")

    /// The number of rows in memory at once.
    private static let batch = 500

    /// Returns the number of rows of each table. Numbering in the target then continues from the
    /// highest numbers of the source.
    ///
    /// - Throws: `failed(layer: "store")` if the target is not empty, or has another number of rows
    ///   at the end.
    static func run(
        from source: any SQLRunner, to target: any SQLRunner
    ) throws(AuthorityError) -> [String: Int] {
        for table in Schema.tables {
            let isEmpty = try target.rows("SELECT 1 AS n FROM \(table.name) LIMIT 1", []).isEmpty
            guard isEmpty else { throw occupied }
        }
        var counts: [String: Int] = [:]
        for table in Schema.tables {
            let count = try copy(table, from: source, to: target)
            guard try self.count(table, in: target) == count else {
                throw .failed(layer: "store", text: "rows of \(table.name) are missing in the copy")
            }
            counts[table.name] = count
        }
        if target.dialect == .postgreSQL { try countOn(target) }
        return counts
    }

    private static func count(
        _ table: Table, in store: any SQLRunner
    ) throws(AuthorityError) -> Int? {
        let row = try store.rows("SELECT count(*) AS n FROM \(table.name)", []).first
        return try row.map { row throws(AuthorityError) in try row.value("n") }
    }

    private static func copy(
        _ table: Table, from source: any SQLRunner, to target: any SQLRunner
    ) throws(AuthorityError) -> Int {
        let names = table.stored.map(\.name)
        let insertion = """
            INSERT INTO \(table.name) (\(names.joined(separator: ", ")))
            VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))
            """
        var count = 0
        var last: [SQLValue] = []
        while true {
            let rows = try page(of: table, after: last, source)
            for row in rows {
                let values = zip(table.stored, row.values).map { bound($1, to: $0) }
                try target.run(insertion, values)
            }
            count += rows.count
            guard rows.count == batch, let end = rows.last else { return count }
            last = table.key.compactMap { end[$0] }
        }
    }

    private static func page(
        of table: Table, after last: [SQLValue], _ source: any SQLRunner
    ) throws(AuthorityError) -> [SQLRow] {
        let names = table.stored.map(\.name).joined(separator: ", ")
        let key = table.key.joined(separator: ", ")
        let places = table.key.map { _ in "?" }.joined(separator: ", ")
        let rest = last.isEmpty ? "" : "WHERE (\(key)) > (\(places))"
        return try source.rows(
            "SELECT \(names) FROM \(table.name) \(rest) ORDER BY \(key) LIMIT \(batch)", last)
    }

    /// SQLite has no booleans, only numbers.
    private static func bound(_ value: SQLValue, to column: Column) -> SQLValue {
        if column.kind == .truth, case .integer(let number) = value { return .bool(number != 0) }
        return value
    }

    /// Sets the counters of the target. The numbers of the audit log and of touched boards are
    /// raised at the next start, from the highest number in the table.
    private static func countOn(_ target: any SQLRunner) throws(AuthorityError) {
        for table in Schema.tables {
            switch table.columns.first?.numbering {
            case .counted, .unique:
                _ = try target.rows(
                    """
                    SELECT setval(pg_get_serial_sequence('\(table.name)', 'number')::regclass,
                        (SELECT coalesce(max(number), 0) + 1 FROM \(table.name)), false) AS number
                    """, [])
            case .committed, nil: continue
            }
        }
    }
}
