/// One value as a database takes and gives it.
package enum SQLValue: Equatable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])
    case bool(Bool)
}

/// One row of a result.
package struct SQLRow: Sendable {
    package let columns: SQLColumns
    /// As many as `columns` has names, in their order.
    package let values: [SQLValue]

    package init(columns: SQLColumns, values: [SQLValue]) {
        self.columns = columns
        self.values = values
    }

    /// The value of a column; nil where the result has none of that name.
    package subscript(_ name: String) -> SQLValue? {
        guard let place = columns.place(of: name), values.indices.contains(place) else {
            return nil
        }
        return values[place]
    }
}

/// The names of a result's columns, which all of its rows share.
package final class SQLColumns: Sendable {
    package let names: [String]

    package init(_ names: [String]) {
        self.names = names
    }

    /// Where a column stands; the first of several with one name.
    package func place(of name: String) -> Int? {
        names.firstIndex(of: name)
    }
}
