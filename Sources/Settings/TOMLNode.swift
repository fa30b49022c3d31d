import TOMLKit

/// A value of a TOML document, as plain Swift values.
enum TOMLNode: Equatable {
    case string(String)
    case integer(Int)
    case boolean(Bool)
    case array([TOMLNode])
    case table([String: TOMLNode])
    /// A number with a fraction, a date or a time: nothing here is written as one.
    case other(String)

    /// With its article, for sentences.
    var kind: String {
        switch self {
        case .string: "a string"
        case .integer: "an integer"
        case .boolean: "a boolean"
        case .array: "an array"
        case .table: "a table"
        case .other(let name): "a \(name)"
        }
    }

    /// Copies everything out of a table, nil if a key cannot be found again.
    ///
    /// TOMLKit 0.6.0 frees no table that it has parsed; a copy touches each node once.
    static func entries(of table: TOMLTable) -> [String: TOMLNode]? {
        var entries: [String: TOMLNode] = [:]
        for key in table.keys {
            guard let value = table[key].flatMap({ TOMLNode($0.tomlValue) }) else { return nil }
            entries[key] = value
        }
        return entries
    }

    private init?(_ value: TOMLValue) {
        if let text = value.string {
            self = .string(text)
        } else if let number = value.int {
            self = .integer(number)
        } else if let flag = value.bool {
            self = .boolean(flag)
        } else if let array = value.array {
            let elements = array.map { TOMLNode($0.tomlValue) }
            let copied = elements.compactMap { $0 }
            guard copied.count == elements.count else { return nil }
            self = .array(copied)
        } else if let table = value.table {
            guard let entries = Self.entries(of: table) else { return nil }
            self = .table(entries)
        } else {
            self = .other(value.type.description)
        }
    }
}
