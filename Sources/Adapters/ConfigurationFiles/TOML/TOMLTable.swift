/// A value of a TOML document, and where it begins.
struct TOMLNode {
    let place: SourcePlace
    let value: TOMLValue
}

enum TOMLValue {
    case string(String)
    case integer(Int)
    /// A number with a fraction or an exponent.
    case decimal(Double)
    case boolean(Bool)
    case array([TOMLNode])
    case table(TOMLTable)
    /// Tables that are each written under a line `[[name]]`.
    case tables(TOMLTables)

    /// The type's name with its article, for error messages.
    var kind: String {
        switch self {
        case .string: "a string"
        case .integer: "an integer"
        case .decimal: "a number with a fraction"
        case .boolean: "a boolean"
        case .array: "an array"
        case .table: "a table"
        case .tables: "an array of tables"
        }
    }
}

/// The tables under one `[[name]]`, in the file's order. Never empty.
///
/// It is a class, so that adding a table does not copy the others.
final class TOMLTables {
    private(set) var all: [TOMLTable]

    init(_ first: TOMLTable) { all = [first] }

    func append(_ table: TOMLTable) { all.append(table) }
}

/// One table, during and after reading.
///
/// It is a class, so that adding to a deep table does not copy the tree.
final class TOMLTable {
    /// How a table was made. This decides what may still be added to it.
    enum Form {
        /// Only named in another table's header: `a` in `[a.b]`.
        case implied
        case header
        /// Made by a key with dots: `a` in `a.b = 1`.
        case dotted
        case inline
    }

    struct Entry {
        let key: SourcePlace
        let node: TOMLNode
    }

    private(set) var form: Form
    /// Where the table begins: its header, bracket or first mention. Nil for the whole document.
    private(set) var place: SourcePlace?
    private(set) var entries: [String: Entry] = [:]

    init(_ form: Form, at place: SourcePlace?) {
        self.form = form
        self.place = place
    }

    /// The table for one part of a header's path, made if absent. Nil: another value has that name.
    func passage(_ part: TOMLReader.KeyPart) -> TOMLTable? {
        switch entries[part.name]?.node.value {
        case nil: return added(.implied, part, at: part.place)
        case .table(let table): return table.form == .inline ? nil : table
        case .tables(let list): return list.all.last
        default: return nil
        }
    }

    /// The table for one part of a dotted key's path, made if absent. Nil: another value has that
    /// name, or a table that is complete.
    func dotted(_ part: TOMLReader.KeyPart) -> TOMLTable? {
        switch entries[part.name]?.node.value {
        case nil: return added(.dotted, part, at: part.place)
        case .table(let table): return table.form == .dotted ? table : nil
        default: return nil
        }
    }

    /// The table for a header `[…name]`. Nil: the name is in use.
    func headed(_ part: TOMLReader.KeyPart, at place: SourcePlace) -> TOMLTable? {
        switch entries[part.name]?.node.value {
        case nil: return added(.header, part, at: place)
        case .table(let table) where table.form == .implied:
            table.form = .header
            table.place = place
            entries[part.name] = Entry(
                key: part.place, node: TOMLNode(place: place, value: .table(table)))
            return table
        default: return nil
        }
    }

    /// A new table for a header `[[…name]]`. Nil: the name is in use.
    func element(_ part: TOMLReader.KeyPart, at place: SourcePlace) -> TOMLTable? {
        let table = TOMLTable(.header, at: place)
        switch entries[part.name]?.node.value {
        case nil:
            let list = TOMLNode(place: place, value: .tables(TOMLTables(table)))
            entries[part.name] = Entry(key: part.place, node: list)
        case .tables(let list): list.append(table)
        default: return nil
        }
        return table
    }

    /// Adds an entry. False if the key is in use.
    func set(_ part: TOMLReader.KeyPart, _ node: TOMLNode) -> Bool {
        guard entries[part.name] == nil else { return false }
        entries[part.name] = Entry(key: part.place, node: node)
        return true
    }

    private func added(
        _ form: Form, _ part: TOMLReader.KeyPart, at place: SourcePlace
    ) -> TOMLTable {
        let table = TOMLTable(form, at: place)
        let node = TOMLNode(place: place, value: .table(table))
        entries[part.name] = Entry(key: part.place, node: node)
        return table
    }
}
