/// A table, for all databases. `SQLDialect` writes the SQL statements from it.
struct Table: Sendable {
    let name: String
    let columns: [Column]
    /// The columns of the primary key, in order.
    let key: [String]
    var indexes: [Index] = []
    /// A condition that each row meets.
    var check: String?
    /// Whether SQLite keeps the rows in the key's index: for small rows that are found by key.
    var isKeptByKey = false
    /// How full PostgreSQL fills a page, in percent. A row that is often updated then stays in its
    /// page, and no index changes. Source: PostgreSQL, 73.7 "Heap-Only Tuples".
    var fillFactor: Int?

    /// The columns that are written. The database computes the others.
    var stored: [Column] { columns.filter { $0.formula == nil } }
}

struct Column: Sendable {
    enum Kind { case text, integer, bytes, truth }

    /// How the database numbers rows.
    enum Numbering {
        /// A number may be used again after its row was deleted.
        case counted
        /// No number is used twice.
        case unique
        /// No number is used twice, and readers never see a lower number after a higher one. They
        /// follow the commits of others by it.
        case committed
    }

    let name: String
    let kind: Kind
    var isOptional = false
    var numbering: Numbering?
    /// The table whose `id` this column refers to.
    var parent: String?
    /// The expression from which the database computes the column.
    var formula: String?

    static func text(_ name: String, of parent: String? = nil) -> Column {
        Column(name: name, kind: .text, parent: parent)
    }

    static func integer(_ name: String) -> Column { Column(name: name, kind: .integer) }
    static func bytes(_ name: String) -> Column { Column(name: name, kind: .bytes) }
    static func truth(_ name: String) -> Column { Column(name: name, kind: .truth) }

    /// The key of a table with numbered rows.
    static func number(_ numbering: Numbering) -> Column {
        Column(name: "number", kind: .integer, numbering: numbering)
    }

    /// The same column, but it may be NULL.
    var optional: Column {
        var column = self
        column.isOptional = true
        return column
    }

    func computed(as formula: String) -> Column {
        var column = optional
        column.formula = formula
        return column
    }
}

struct Index: Sendable {
    let name: String
    /// Columns, or an expression.
    let terms: String
    /// The condition for rows in the index; nil: all rows.
    var condition: String?
    var isUnique = false

    static func on(_ terms: String, _ name: String, where condition: String? = nil) -> Index {
        Index(name: name, terms: terms, condition: condition)
    }

    static func unique(_ terms: String, _ name: String, where condition: String? = nil) -> Index {
        Index(name: name, terms: terms, condition: condition, isUnique: true)
    }
}

/// The statements that make a table.
extension SQLDialect {
    func statements(of table: Table) -> [String] {
        var parts = columns(of: table).map(definition)
        if !table.columns.contains(where: { $0.numbering != nil }) {
            parts.append("PRIMARY KEY (\(table.key.joined(separator: ", ")))")
        }
        if let check = table.check { parts.append("CHECK (\(check))") }
        let making = """
            CREATE TABLE \(table.name) (
                \(parts.joined(separator: ",\n    "))
            )\(options(of: table))
            """
        return [making] + table.indexes.map { index in
            let condition = index.condition.map { " WHERE \($0)" } ?? ""
            return "CREATE \(index.isUnique ? "UNIQUE " : "")INDEX \(index.name) "
                + "ON \(table.name) (\(terms(of: index, table)))\(condition)"
        }
    }

    /// SQLite cannot `VACUUM INTO` a table with a computed column, so SQLite tables have none.
    private func columns(of table: Table) -> [Column] {
        self == .sqlite ? table.stored : table.columns
    }

    /// In SQLite the index has the expression instead of the computed column.
    private func terms(of index: Index, _ table: Table) -> String {
        let column = table.columns.first { $0.name == index.terms }
        return self == .sqlite ? column?.formula ?? index.terms : index.terms
    }

    private func definition(of column: Column) -> String {
        var words = [column.name, type(of: column.kind)]
        if let numbering = column.numbering {
            words.append(key(numbered: numbering))
        } else if !column.isOptional {
            words.append("NOT NULL")
        }
        if let parent = column.parent { words.append("REFERENCES \(parent) (id)") }
        if let formula = column.formula {
            words.append("GENERATED ALWAYS AS (\(formula)) STORED")
        }
        return words.joined(separator: " ")
    }

    /// PostgreSQL keeps text under the collation "C". So text sorts by its bytes in any language
    /// setting of the database.
    private func type(of kind: Column.Kind) -> String {
        switch (self, kind) {
        case (.sqlite, .text): "TEXT"
        case (.sqlite, .integer), (.sqlite, .truth): "INTEGER"
        case (.sqlite, .bytes): "BLOB"
        case (.postgreSQL, .text): "TEXT COLLATE \"C\""
        case (.postgreSQL, .integer): "BIGINT"
        case (.postgreSQL, .bytes): "BYTEA"
        case (.postgreSQL, .truth): "BOOLEAN"
        }
    }

    private func key(numbered numbering: Column.Numbering) -> String {
        switch (self, numbering) {
        case (.sqlite, .counted): "PRIMARY KEY"
        case (.sqlite, .unique), (.sqlite, .committed): "PRIMARY KEY AUTOINCREMENT"
        case (.postgreSQL, .counted), (.postgreSQL, .unique):
            "GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
        case (.postgreSQL, .committed): "PRIMARY KEY DEFAULT next_number()"
        }
    }

    private func options(of table: Table) -> String {
        switch self {
        case .sqlite: table.isKeptByKey ? " STRICT, WITHOUT ROWID" : " STRICT"
        case .postgreSQL: table.fillFactor.map { " WITH (fillfactor = \($0))" } ?? ""
        }
    }
}
