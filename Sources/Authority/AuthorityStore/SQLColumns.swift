import AuthorityCore
import PostgreSQLClient
import Sessions

/// A type that can be written to a column and read from one.
protocol SQLBindable {
    var sqlValue: SQLValue { get }
    /// Nil if `sqlValue` has another type. Never called for NULL.
    init?(sqlValue: SQLValue)
}

extension Int64: SQLBindable {
    var sqlValue: SQLValue { .integer(self) }

    init?(sqlValue: SQLValue) {
        guard case .integer(let value) = sqlValue else { return nil }
        self = value
    }
}

extension Int: SQLBindable {
    var sqlValue: SQLValue { .integer(Int64(self)) }

    init?(sqlValue: SQLValue) {
        guard case .integer(let value) = sqlValue else { return nil }
        self.init(exactly: value)
    }
}

extension Bool: SQLBindable {
    var sqlValue: SQLValue { .bool(self) }

    /// SQLite has no booleans, only numbers.
    init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .bool(let value): self = value
        case .integer(let value): self = value != 0
        default: return nil
        }
    }
}

extension String: SQLBindable {
    var sqlValue: SQLValue { .text(self) }

    init?(sqlValue: SQLValue) {
        guard case .text(let value) = sqlValue else { return nil }
        self = value
    }
}

extension [UInt8]: SQLBindable {
    var sqlValue: SQLValue { .blob(self) }

    init?(sqlValue: SQLValue) {
        guard case .blob(let value) = sqlValue else { return nil }
        self = value
    }
}

/// The error for a stored value that the schema does not allow: something else changed the
/// database.
func damaged(_ column: String) -> AuthorityError {
    .failed(layer: "store", text: "the column \(column) is damaged")
}

extension SQLRow {
    /// Reads a column that must have a value of this type.
    func value<T: SQLBindable>(_ column: String) throws(AuthorityError) -> T {
        guard let value = try optional(column, as: T.self) else { throw damaged(column) }
        return value
    }

    /// Reads a column that may be NULL.
    func optional<T: SQLBindable>(
        _ column: String, as type: T.Type = T.self
    ) throws(AuthorityError) -> T? {
        guard let stored = self[column] else { throw damaged(column) }
        if case .null = stored { return nil }
        guard let value = T(sqlValue: stored) else { throw damaged(column) }
        return value
    }

    /// Reads a text column through the parser of its type.
    func parsed<T>(
        _ column: String, _ parse: (String) -> T?
    ) throws(AuthorityError) -> T {
        guard let value = parse(try value(column)) else { throw damaged(column) }
        return value
    }

    func parsedOptional<T>(
        _ column: String, _ parse: (String) -> T?
    ) throws(AuthorityError) -> T? {
        guard let text = try optional(column, as: String.self) else { return nil }
        guard let value = parse(text) else { throw damaged(column) }
        return value
    }

    func time(_ column: String) throws(AuthorityError) -> Timestamp {
        Timestamp(milliseconds: try value(column))
    }

    func optionalTime(_ column: String) throws(AuthorityError) -> Timestamp? {
        try optional(column, as: Int64.self).map(Timestamp.init(milliseconds:))
    }

    func bytes(_ column: String) throws(AuthorityError) -> [UInt8] { try value(column) }

    func optionalBytes(_ column: String) throws(AuthorityError) -> [UInt8]? {
        try optional(column)
    }
}
