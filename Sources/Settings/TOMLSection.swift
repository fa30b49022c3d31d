import Gate

/// One table of a document, read key by key; a variable of the environment wins over the file.
///
/// A key that is absent reads as nil; one of another type than asked for is an error.
struct TOMLSection {
    let document: TOMLDocument
    let path: [String]
    let entries: [String: TOMLNode]

    /// Refuses every key but these, naming the nearest.
    func allow(only known: [String]) throws(SettingsError) {
        for key in entries.keys.sorted() where !known.contains(key) {
            let hint = NearestKey.to(key, among: known).map { "; the nearest known is \"\($0)\"" }
            throw SettingsError(
                document, document.places.key(path + [key]),
                "unknown key \"\(name(of: key))\"\(hint ?? "")")
        }
    }

    func text(_ key: String) throws(SettingsError) -> String? {
        if let value = override(key) { return value }
        switch entries[key] {
        case nil: return nil
        case .string(let text): return text
        case .some(let node): throw mistyped(key, node, "a string")
        }
    }

    /// A number of bytes; an integer stands for its digits: `max_bytes = 4096`.
    func size(_ key: String) throws(SettingsError) -> ByteCount? {
        let text: String?
        if override(key) == nil, case .integer(let number) = entries[key] {
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

    /// A whole number within a range.
    func count(_ key: String, within range: ClosedRange<Int>) throws(SettingsError) -> Int? {
        let number: Int
        if let value = override(key) {
            guard let read = Int(value), "\(read)" == value else {
                throw fault(key, "is a whole number")
            }
            number = read
        } else {
            switch entries[key] {
            case nil: return nil
            case .integer(let written): number = written
            case .some(let node): throw mistyped(key, node, "a whole number")
            }
        }
        guard range.contains(number) else {
            throw fault(key, "is from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func flag(_ key: String) throws(SettingsError) -> Bool? {
        if let value = override(key) {
            guard let flag = Bool(value) else { throw fault(key, "is true or false") }
            return flag
        }
        switch entries[key] {
        case nil: return nil
        case .boolean(let flag): return flag
        case .some(let node): throw mistyped(key, node, "a boolean")
        }
    }

    /// A text that `parse` understands.
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

    /// A list of strings. No variable stands for a list.
    func texts(_ key: String) throws(SettingsError) -> [String]? {
        switch entries[key] {
        case nil: return nil
        case .array(let nodes):
            var texts: [String] = []
            for (index, node) in nodes.enumerated() {
                guard case .string(let text) = node else {
                    throw fault(
                        key, element: index,
                        "is an array of strings, but one element is \(node.kind)")
                }
                texts.append(text)
            }
            return texts
        case .some(let node): throw mistyped(key, node, "an array of strings")
        }
    }

    /// A table; an empty one if it is absent, so that the environment alone may fill it.
    func section(_ key: String) throws(SettingsError) -> TOMLSection {
        switch entries[key] {
        case nil: return TOMLSection(document: document, path: path + [key], entries: [:])
        case .table(let entries):
            return TOMLSection(document: document, path: path + [key], entries: entries)
        case .some(let node): throw mistyped(key, node, "a table")
        }
    }

    /// The table under a key, or the first of an array of tables there; else an empty one.
    func within(_ key: String) -> TOMLSection {
        var place = path + [key]
        var node = entries[key]
        if case .array(let nodes) = node {
            place.append("#0")
            node = nodes.first
        }
        guard case .table(let members) = node else {
            return TOMLSection(document: document, path: place, entries: [:])
        }
        return TOMLSection(document: document, path: place, entries: members)
    }

    /// The tables under `[[key]]` and the line of each header, in the file's order.
    func sections(_ key: String) throws(SettingsError) -> [(line: Int, section: TOMLSection)] {
        guard let node = entries[key] else { return [] }
        guard case .array(let nodes) = node else {
            throw mistyped(key, node, "an array of tables, each under [[\(key)]]")
        }
        var result: [(line: Int, section: TOMLSection)] = []
        for (index, node) in nodes.enumerated() {
            // Rules and routes go by their lines, so each needs a header of its own.
            guard case .table(let entries) = node,
                let header = document.places.header(path + [key], index),
                document.places.headers[path + [key]] == nodes.count
            else { throw fault(key, "is written as tables, each under a line [[\(key)]]") }
            let place = path + [key, "#\(index)"]
            let section = TOMLSection(document: document, path: place, entries: entries)
            result.append((header.line, section))
        }
        return result
    }

    /// An error at a key's value, or at one element of it: of the variable that holds it, or of
    /// its place in the file. One of a key that is missing stands where its table begins.
    func fault(_ key: String, element: Int? = nil, _ sentence: String) -> SettingsError {
        if override(key) != nil {
            return SettingsError(file: variable(key), message: sentence)
        }
        let place = path + [key] + (element.map { ["#\($0)"] } ?? [])
        return SettingsError(document, document.places.value(place), named(key, sentence))
    }

    /// An error in what a key is called.
    func nameFault(_ key: String, _ sentence: String) -> SettingsError {
        SettingsError(document, document.places.key(path + [key]), named(key, sentence))
    }

    private func named(_ key: String, _ sentence: String) -> String {
        name(of: key) + (sentence.hasPrefix("is ") ? " " : ": ") + sentence
    }

    /// The value of a key that has to be there.
    func need<Value>(_ key: String, _ value: Value?) throws(SettingsError) -> Value {
        guard let value else { throw fault(key, "is missing") }
        return value
    }

    private func mistyped(_ key: String, _ node: TOMLNode, _ expected: String) -> SettingsError {
        fault(key, "is \(expected), not \(node.kind)")
    }

    /// The dotted name, without the indices of array elements.
    private func name(of key: String) -> String {
        (path + [key]).filter { !$0.hasPrefix("#") }.joined(separator: ".")
    }

    private func override(_ key: String) -> String? {
        // Elements of an array have no name of their own.
        path.contains { $0.hasPrefix("#") } ? nil : document.environment(variable(key))
    }

    private func variable(_ key: String) -> String {
        "POSTERN_" + (path + [key]).joined(separator: "_").uppercased()
    }
}

extension SettingsError {
    fileprivate init(_ document: TOMLDocument, _ place: SourcePlace?, _ message: String) {
        self.init(file: document.file, place, message)
    }
}
