/// Finds the thing that a person means by an id, a name, or the beginning of an id.
///
/// An exact id counts first. An exact name and the beginning of an id count the same, because an
/// owner chooses the name: it may be the beginning of another thing's id. Below 4 characters an
/// exact name counts first, so that short names can be used.
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
        let mayBegin = text.count >= Self.shortest || !items.contains { $0.name == text }
        let matches = items.filter { item in
            item.name == text || mayBegin && item.ids.contains { $0.hasPrefix(text) }
        }
        guard let first = matches.first else { return .nothing }
        guard matches.count > 1 else { return .found(first.value) }
        let length = length(matches)
        var names = matches.prefix(Self.shown).map { item in
            let id = item.ids.first ?? ""
            let begun = id.utf8.count > length ? id.prefix(length) + "…" : id[...]
            return item.name.map { "\($0) (\(begun))" } ?? String(begun)
        }
        if matches.count > Self.shown { names.append("\(matches.count - Self.shown) more") }
        let list = names.joined(separator: ", ")
        return .several("\(matches.count) \(plural) match \(text): \(list)")
    }

    /// Whether something has this id or this name.
    package func has(_ text: String) -> Bool {
        items.contains { $0.name == text || $0.ids.contains(text) }
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
