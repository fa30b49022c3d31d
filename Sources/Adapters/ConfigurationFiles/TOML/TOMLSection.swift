import Gate

/// Reads one table of a document, key by key. An environment variable overrides the file.
///
/// An absent key reads as nil. A value of another type is an error.
struct TOMLSection {
    let document: TOMLDocument
    let path: [String]
    /// Where the table begins. Nil for the whole document.
    let place: SourcePlace?
    let entries: [String: TOMLTable.Entry]
    /// Whether the table is an element of an array. Variables cannot name it, so none override it.
    var isElement = false

    /// Refuses every unknown key, here and in the tables below. The error names the nearest known
    /// key.
    func allow(only known: KnownKeys) throws(SettingsError) {
        let keys = known.keys(in: path)
        guard !keys.isEmpty else { return }
        for key in entries.keys.sorted() where !keys.contains(key) && !keys.contains("*") {
            let hint = NearestKey.to(key, among: keys).map { "; the nearest known is \"\($0)\"" }
            throw SettingsError(
                file: document.file, entries[key]?.key,
                "unknown key \"\(name(of: key))\"\(hint ?? "")")
        }
        for key in entries.keys.sorted() {
            for table in tables(under: key) { try table.allow(only: known) }
        }
    }

    private func tables(under key: String) -> [TOMLSection] {
        switch value(key) {
        case .table(let table): [section(of: table, key)]
        case .tables(let list): list.all.map { section(of: $0, key, isElement: true) }
        default: []
        }
    }

    func text(_ key: String) throws(SettingsError) -> String? {
        if let value = override(key) { return value }
        switch value(key) {
        case nil: return nil
        case .string(let text): return text
        case .some(let value): throw mistyped(key, value, "a string")
        }
    }

    /// Reads a number of bytes. An integer counts as its digits: `max_bytes = 4096`.
    func size(_ key: String) throws(SettingsError) -> ByteCount? {
        let text: String?
        if override(key) == nil, case .integer(let number) = value(key) {
            text = "\(number)"
        } else {
            text = try self.text(key)
        }
        guard let text else { return nil }
        do throws(GrammarError) {
            return try ByteCount(text)
        } catch {
            throw fault(key, error.sentence)
        }
    }

    /// Reads a whole number within a range.
    func count(_ key: String, within range: ClosedRange<Int>) throws(SettingsError) -> Int? {
        let number: Int
        if let value = override(key) {
            guard let read = Int(value), "\(read)" == value else {
                throw fault(key, "must be a whole number")
            }
            number = read
        } else {
            switch self.value(key) {
            case nil: return nil
            case .integer(let written): number = written
            case .some(let value): throw mistyped(key, value, "a whole number")
            }
        }
        guard range.contains(number) else {
            throw fault(key, "must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func flag(_ key: String) throws(SettingsError) -> Bool? {
        if let value = override(key) {
            guard let flag = Bool(value) else { throw fault(key, "must be true or false") }
            return flag
        }
        switch self.value(key) {
        case nil: return nil
        case .boolean(let flag): return flag
        case .some(let value): throw mistyped(key, value, "a boolean")
        }
    }

    /// Reads a text and parses it with `parse`.
    func value<Value, Fault: ValueFault>(
        _ key: String, _ parse: (String) throws(Fault) -> Value
    ) throws(SettingsError) -> Value? {
        guard let text = try text(key) else { return nil }
        do throws(Fault) {
            return try parse(text)
        } catch {
            throw fault(key, error.sentence)
        }
    }

    /// Reads a list of strings. No variable overrides a list.
    func texts(_ key: String) throws(SettingsError) -> [String]? {
        switch value(key) {
        case nil: return nil
        case .array(let nodes):
            var texts: [String] = []
            for (index, node) in nodes.enumerated() {
                guard case .string(let text) = node.value else {
                    throw fault(
                        key, element: index,
                        "must be an array of strings, but one element is \(node.value.kind)")
                }
                texts.append(text)
            }
            return texts
        case .some(let value): throw mistyped(key, value, "an array of strings")
        }
    }

    /// Reads a table. If it is absent, the table is empty, so that variables alone may fill it.
    func section(_ key: String) throws(SettingsError) -> TOMLSection {
        switch value(key) {
        case nil: return section(of: nil, key)
        case .table(let table): return section(of: table, key)
        case .some(let value): throw mistyped(key, value, "a table")
        }
    }

    /// The table under a key, or the first of an array of tables there; else an empty one.
    func within(_ key: String) -> TOMLSection {
        switch value(key) {
        case .table(let table): section(of: table, key)
        case .tables(let list): section(of: list.all.first, key, isElement: true)
        case .array(let nodes):
            if case .table(let table) = nodes.first?.value {
                section(of: table, key, isElement: true)
            } else {
                section(of: nil, key)
            }
        default: section(of: nil, key)
        }
    }

    /// The tables under `[[key]]` and the line of each header, in the file's order.
    func sections(_ key: String) throws(SettingsError) -> [(line: Int, section: TOMLSection)] {
        switch value(key) {
        case nil: return []
        case .tables(let list):
            return list.all.map { table in
                (table.place?.line ?? 1, section(of: table, key, isElement: true))
            }
        // A rule's or route's line identifies it, so each needs its own header.
        case .array: throw fault(key, "must be tables, each under a line [[\(key)]]")
        case .some(let value):
            throw mistyped(key, value, "an array of tables, each under [[\(key)]]")
        }
    }

    private func section(
        of table: TOMLTable?, _ key: String, isElement: Bool = false
    ) -> TOMLSection {
        TOMLSection(
            document: document, path: path + [key], place: table?.place ?? place,
            entries: table?.entries ?? [:], isElement: isElement || self.isElement)
    }

    func value(_ key: String) -> TOMLValue? { entries[key]?.node.value }

    /// An error at a key's value, or at one element of it. Its place is the variable, if one
    /// overrides the value, or the place in the file. A missing key's place is where its table
    /// begins.
    func fault(_ key: String, element: Int? = nil, _ sentence: String) -> SettingsError {
        if override(key) != nil {
            return SettingsError(file: variable(key), message: sentence)
        }
        var place = entries[key]?.node.place ?? place
        if let element, case .array(let nodes) = value(key), nodes.indices.contains(element) {
            place = nodes[element].place
        }
        return SettingsError(file: document.file, place, named(key, sentence))
    }

    /// An error in a key's name.
    func nameFault(_ key: String, _ sentence: String) -> SettingsError {
        SettingsError(file: document.file, entries[key]?.key ?? place, named(key, sentence))
    }

    private func named(_ key: String, _ sentence: String) -> String {
        let continues = ["is ", "must ", "needs "].contains { sentence.hasPrefix($0) }
        return name(of: key) + (continues ? " " : ": ") + sentence
    }

    /// The value of a required key.
    func need<Value>(_ key: String, _ value: Value?) throws(SettingsError) -> Value {
        guard let value else { throw fault(key, "is missing") }
        return value
    }

    private func mistyped(
        _ key: String, _ value: TOMLValue, _ expected: String
    ) -> SettingsError {
        fault(key, "must be \(expected), not \(value.kind)")
    }

    private func name(of key: String) -> String { (path + [key]).joined(separator: ".") }

    private func override(_ key: String) -> String? {
        isElement ? nil : document.environment(variable(key))
    }

    private func variable(_ key: String) -> String {
        "POSTERN_" + (path + [key]).joined(separator: "_").uppercased()
    }
}
