package import AuthorityCore

/// All rows of one store carried into another that is empty, whatever database each stands in.
///
/// One of the two is SQLite, whose schema says which columns there are and by what rows are told
/// apart. Both are within a transaction of their own: what is read is one view, and what is
/// written is all of it or nothing.
package struct StoreCopy {
    /// The tables, each after those that its rows name. What no store keeps is not among them.
    package static let tables = [
        "users", "identities", "spent_id_tokens", "sessions", "families", "person_logins",
        "boards", "statuses", "broker_logins", "sequences", "reports", "installations", "roles",
        "claims", "spent_secrets", "replies", "chores", "timeline", "touches", "audit",
        "failures", "keys", "times", "gaps", "ahead",
    ]

    /// Nothing was carried over: the other store has something.
    package static let occupied = AuthorityError.failed(
        layer: "store", text: "there are records there already, and it takes an empty one")

    /// How many rows are in memory at once.
    private static let batch = 500
    /// Only failed logins have no key, and of so many the older ones decide nothing.
    private static let unkeyed = 50_000

    /// A table as SQLite has it.
    struct Shape: Equatable {
        let name: String
        let columns: [String]
        /// Empty where rows are told apart by nothing: then they are read in one go, the newest
        /// `unkeyed` of them.
        let key: [String]
    }

    private let shapes: [Shape]

    /// - Throws: `failed(layer: "store")` where a table is not known to this program, or missing.
    package init(schemaOf sqlite: any SQLRunner) throws(AuthorityError) {
        let found = try sqlite.rows(
            """
            SELECT name FROM sqlite_master WHERE type = 'table'
            AND name NOT LIKE 'sqlite_%' AND name <> 'grdb_migrations'
            """, [])
        var names: Set<String> = []
        for row in found { names.insert(try row.value("name")) }
        guard names == Set(Self.tables) else {
            let odd = names.symmetricDifference(Self.tables).sorted().joined(separator: ", ")
            throw .failed(layer: "store", text: "tables that are not to be carried over: \(odd)")
        }
        var shapes: [Shape] = []
        for name in Self.tables { shapes.append(try Self.shape(of: name, sqlite)) }
        self.shapes = shapes
    }

    private static func shape(
        of name: String, _ sqlite: any SQLRunner
    ) throws(AuthorityError) -> Shape {
        let rows = try sqlite.rows("SELECT name, pk FROM pragma_table_info(?)", [.text(name)])
        var columns: [String] = []
        var key: [(place: Int64, name: String)] = []
        for row in rows {
            let column: String = try row.value("name")
            let place: Int64 = try row.value("pk")
            columns.append(column)
            if place > 0 { key.append((place, column)) }
        }
        return Shape(
            name: name, columns: columns,
            key: key.sorted { $0.place < $1.place }.map(\.name))
    }

    /// Whether a store holds nothing at all: a copy is made into no other.
    package static func isEmpty(_ store: any SQLRunner) throws(AuthorityError) -> Bool {
        for table in tables {
            guard try store.rows("SELECT 1 AS n FROM \(table) LIMIT 1", []).isEmpty else {
                return false
            }
        }
        return true
    }

    /// How many rows each table has.
    package static func counts(_ store: any SQLRunner) throws(AuthorityError) -> [String: Int] {
        var counts: [String: Int] = [:]
        for table in tables {
            let row = try store.rows("SELECT count(*) AS n FROM \(table)", []).first
            let count: Int? = try row.map { row throws(AuthorityError) in try row.value("n") }
            counts[table] = count
        }
        return counts
    }

    /// Carries everything over, and says how many rows of each table. Then the target counts on
    /// from the highest numbers of the source.
    package func run(
        from source: any SQLRunner, to target: any SQLRunner
    ) throws(AuthorityError) -> [String: Int] {
        guard try Self.isEmpty(target) else { throw Self.occupied }
        var counts: [String: Int] = [:]
        for shape in shapes {
            let truths = try Self.truths(of: shape.name, in: target)
            counts[shape.name] = try copy(shape, truths, from: source, to: target)
        }
        if target.dialect == .postgreSQL { try Self.countOn(target) }
        return counts
    }

    private func copy(
        _ shape: Shape, _ truths: Set<String>, from source: any SQLRunner,
        to target: any SQLRunner
    ) throws(AuthorityError) -> Int {
        let insertion = """
            INSERT INTO \(shape.name) (\(shape.columns.joined(separator: ", ")))
            VALUES (\(shape.columns.map { _ in "?" }.joined(separator: ", ")))
            """
        var count = 0
        var last: [SQLValue] = []
        while true {
            let rows = try page(of: shape, after: last, source)
            for row in rows {
                guard row.values.count == shape.columns.count else {
                    throw .failed(layer: "store", text: "\(shape.name) has other columns")
                }
                let values = zip(shape.columns, row.values).map { column, value in
                    Self.bound(value, asTruth: truths.contains(column))
                }
                try target.run(insertion, values)
            }
            count += rows.count
            guard !shape.key.isEmpty, rows.count == Self.batch, let end = rows.last else {
                return count
            }
            last = shape.key.compactMap { end[$0] }
        }
    }

    private func page(
        of shape: Shape, after last: [SQLValue], _ source: any SQLRunner
    ) throws(AuthorityError) -> [SQLRow] {
        let all = "SELECT \(shape.columns.joined(separator: ", ")) FROM \(shape.name)"
        guard !shape.key.isEmpty else {
            return try source.rows("\(all) ORDER BY at DESC LIMIT \(Self.unkeyed)", [])
        }
        let key = shape.key.joined(separator: ", ")
        let places = shape.key.map { _ in "?" }.joined(separator: ", ")
        let rest = last.isEmpty ? "" : "WHERE (\(key)) > (\(places))"
        return try source.rows(
            "\(all) \(rest) ORDER BY \(key) LIMIT \(Self.batch)", last)
    }

    /// SQLite has no truth values, only numbers.
    private static func bound(_ value: SQLValue, asTruth isTruth: Bool) -> SQLValue {
        if isTruth, case .integer(let number) = value { return .bool(number != 0) }
        return value
    }

    private static func truths(
        of table: String, in target: any SQLRunner
    ) throws(AuthorityError) -> Set<String> {
        guard target.dialect == .postgreSQL else { return [] }
        let rows = try target.rows(
            """
            SELECT column_name::text AS name FROM information_schema.columns
            WHERE table_schema = current_schema() AND table_name = ? AND data_type = 'boolean'
            """, [.text(table)])
        var names: Set<String> = []
        for row in rows { names.insert(try row.value("name")) }
        return names
    }

    /// Numbers of the audit log and of touched boards are lifted at the next start, from the
    /// highest there.
    private static func countOn(_ target: any SQLRunner) throws(AuthorityError) {
        let sequences = [
            ("pg_get_serial_sequence('replies', 'number')", "replies"),
            ("pg_get_serial_sequence('chores', 'number')", "chores"),
            ("'timeline_number'", "timeline"),
        ]
        for (sequence, table) in sequences {
            _ = try target.rows(
                """
                SELECT setval(\(sequence)::regclass,
                    (SELECT coalesce(max(number), 0) + 1 FROM \(table)), false) AS number
                """, [])
        }
    }
}
