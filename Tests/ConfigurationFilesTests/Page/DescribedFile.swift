import ConfigurationFiles
import Testing

/// Values as TOML has them, by their paths.
typealias Values = [String: String]

/// A configuration file and what the page says about it.
struct DescribedFile<Value: Equatable> {
    let name: String
    let known: KnownKeys
    /// What no such file can be without.
    let least: Values
    /// What a key needs beside it, by the key's path or its table's.
    let beside: [String: Values]
    let parse: (String, [String: String]) throws(SettingsError) -> Value

    func check() throws {
        let rows = try ConfigurationPage.rows(of: name)
        #expect(rows.map(\.path).sorted() == known.paths.map { $0.joined(separator: ".") }.sorted())
        for row in rows {
            let given = values(beside: row)
            let example = parsed(given.merging([row.path: row.example]) { $1 })
            #expect(throws: Never.self, "\(row)") { try example.get() }
            #expect(example != parsed(given), "\(row): the example changes nothing")
            #expect(row.hasExampleOfItsType, "\(row)")
            checkDefault(row, given)
            checkChoices(row, given)
            if hasVariable(row) {
                let name = "POSTERN_\(row.path)".replacing("*", with: Self.anyName)
                    .replacing(".", with: "_").uppercased()
                #expect(parsed(given, [name: row.example.unquoted]) == example, "\(row)")
            }
        }
    }

    /// Expects `differences` to name each key whose example is read, except those in `unnamed`.
    func checkDifferences(
        unnamed: Set<String>, _ differences: (Value, Value) -> [String]
    ) throws {
        for row in try ConfigurationPage.rows(of: name) where !unnamed.contains(row.path) {
            let given = values(beside: row)
            let base = try parsed(fault(of: given) == nil ? given : least).get()
            let example = try parsed(given.merging([row.path: row.example]) { $1 }).get()
            #expect(differences(example, base).contains(row.path), "\(row)")
        }
    }

    private func checkDefault(_ row: ConfigurationPage.Row, _ given: Values) {
        if row.standard == "required" {
            let error = fault(of: given.filter { $0.key != row.path })
            #expect(error?.message.hasSuffix(" is missing") == true, "\(row)")
        }
        guard let value = row.value else { return }
        let isAccepted = fault(of: given) == nil
        let others = isAccepted ? given : least
        #expect(parsed(others.merging([row.path: value]) { $1 }) == parsed(others), "\(row)")
    }

    private func checkChoices(_ row: ConfigurationPage.Row, _ given: Values) {
        guard let choices = row.choices else { return }
        let error = fault(of: given.merging([row.path: "\"neither\""]) { $1 })
        let list = choices.map { "\"\($0)\"" }.joined(separator: ", ")
        #expect(error?.message.hasSuffix(" is not one of \(list)") == true, "\(row)")
    }

    private func values(beside row: ConfigurationPage.Row) -> Values {
        let table = row.path.split(separator: ".").dropLast().joined(separator: ".")
        return least.merging(beside[row.path] ?? beside[table] ?? [:]) { $1 }
    }

    private func hasVariable(_ row: ConfigurationPage.Row) -> Bool {
        name != "policy.toml" && !row.path.hasPrefix("route.") && !row.type.hasPrefix("list")
    }

    private func fault(of values: Values) -> SettingsError? {
        guard case .failure(let error) = parsed(values) else { return nil }
        return error
    }

    private func parsed(
        _ values: Values, _ variables: [String: String] = [:]
    ) -> Result<Value, SettingsError> {
        Result { () throws(SettingsError) in try parse(text(of: values), variables) }
    }

    private static var anyName: String { "other" }

    /// Rules and routes are known by their lines, so each begins on the same line in every text.
    private func text(of values: Values) -> String {
        var lines: [String] = []
        var elements: [String: [String]] = [:]
        for (path, value) in values.sorted(by: { $0.key < $1.key }) {
            let parts = path.split(separator: ".")
            if let table = parts.first, ["route", "rule"].contains(table) {
                elements[String(table), default: []].append("\(parts[1]) = \(value)")
            } else {
                lines.append("\(path.replacing("*", with: Self.anyName)) = \(value)")
            }
        }
        lines += Array(repeating: "", count: 20 - lines.count)
        for (table, inner) in elements { lines += ["[[\(table)]]"] + inner }
        return lines.joined(separator: "\n")
    }
}

extension ConfigurationPage.Row {
    var hasExampleOfItsType: Bool {
        switch type.prefix(while: \.isLetter) {
        case "boolean": ["true", "false"].contains(example)
        case "number": example.allSatisfy(\.isNumber)
        case "list": example.hasPrefix("[")
        case "table": example.hasPrefix("{")
        default: example.hasPrefix("\"")
        }
    }
}

extension String {
    fileprivate var unquoted: String { hasPrefix("\"") ? String(dropFirst().dropLast()) : self }
}
