/// Finds the thing that a person means by an id, a name, or the beginning of an id.
///
/// An exact id counts first, then an exact name, then the beginning of an id. So a name cannot hide
/// an id, and a thing called `3f` is found although ids begin with `3f`.
package struct NameSearch<Value> {
    package struct Item {
        let value: Value
        /// An error shows the first id.
        let ids: [String]
        let name: String?

        package init(_ value: Value, ids: [String], name: String?) {
            self.value = value
            self.ids = ids
            self.name = name
        }
    }

    package enum Result {
        case found(Value)
        case nothing
        /// Several things match. The sentence names them.
        case several(String)
    }

    /// The word for several things, such as `boards`.
    private let plural: String
    private let items: [Item]
    private static var shown: Int { 5 }
    private static var shortest: Int { 4 }

    package init(_ plural: String, _ items: [Item]) {
        self.plural = plural
        self.items = items
    }

    package func find(_ text: String) -> Result {
        guard !text.isEmpty else { return .nothing }
        if let item = items.first(where: { $0.ids.contains(text) }) { return .found(item.value) }
        let named = items.filter { $0.name == text }
        if let result = result(named, "are called \(text)") { return result }
        let begun = items.filter { $0.ids.contains { $0.hasPrefix(text) } }
        return result(begun, "begin with \(text)") ?? .nothing
    }

    private func result(_ matches: [Item], _ words: String) -> Result? {
        guard let first = matches.first else { return nil }
        guard matches.count > 1 else { return .found(first.value) }
        let length = length(matches)
        var names = matches.prefix(Self.shown).map { item in
            let id = item.ids.first ?? ""
            let begun = id.utf8.count > length ? id.prefix(length) + "…" : id[...]
            return item.name.map { "\($0) (\(begun))" } ?? String(begun)
        }
        if matches.count > Self.shown { names.append("\(matches.count - Self.shown) more") }
        return .several("\(matches.count) \(plural) \(words): \(names.joined(separator: ", "))")
    }

    /// How many characters tell the first ids apart.
    private func length(_ matches: [Item]) -> Int {
        let ids = matches.map { $0.ids.first ?? "" }
        let longest = ids.map(\.count).max() ?? 0
        let enough = (Self.shortest..<max(longest, Self.shortest)).first { length in
            Set(ids.map { $0.prefix(length) }).count == ids.count
        }
        return enough ?? longest
    }
}
