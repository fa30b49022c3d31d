/// One value that a database stores and returns.
package enum SQLValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])
    case bool(Bool)
}

/// A statement with its values.
package struct SQLQuery {
    package let sql: String
    package let values: [SQLValue]

    package init(sql: String, values: [SQLValue]) {
        self.sql = sql
        self.values = values
    }
}

/// One row of a result.
package struct SQLRow: Sendable {
    package let columns: SQLColumns
    /// One value for each name in `columns`, in the same order.
    package let values: [SQLValue]

    package init(columns: SQLColumns, values: [SQLValue]) {
        self.columns = columns
        self.values = values
    }

    /// The value of a column; nil if the result has no column of that name.
    package subscript(_ name: String) -> SQLValue? {
        guard let place = columns.place(of: name), values.indices.contains(place) else {
            return nil
        }
        return values[place]
    }
}

/// The names of a result's columns. All rows of the result share them.
package final class SQLColumns: Sendable {
    package let names: [String]

    package init(_ names: [String]) {
        self.names = names
    }

    /// The index of a column. If several have this name, the first.
    package func place(of name: String) -> Int? {
        names.firstIndex(of: name)
    }
}
