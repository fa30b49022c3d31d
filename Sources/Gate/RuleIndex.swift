/// Finds the first rule for an app and a class in a time that does not grow with the rules.
///
/// A rule matches by app and class alone, so of all the rules with the same two only the first
/// is ever asked; the deciding one is the first of at most four.
struct RuleIndex: Sendable {
    private struct Key: Hashable {
        let app: Int32
        let className: Int32
    }

    /// Stands for "any" in a rule; a name that no rule has looks up nothing else.
    private static let any: Int32 = -1

    private var apps: [AppName: Int32] = [:]
    private var classes: [ClassName: Int32] = [:]
    private var first: [Key: Int] = [:]

    init(_ rules: [Rule]) {
        for (index, rule) in rules.enumerated() {
            let key = Key(
                app: rule.app.map { Self.number(of: $0, in: &apps) } ?? Self.any,
                className: rule.className.map { Self.number(of: $0, in: &classes) } ?? Self.any)
            if first[key] == nil { first[key] = index }
        }
    }

    private static func number<Name: Hashable>(of name: Name, in names: inout [Name: Int32])
        -> Int32
    {
        if let number = names[name] { return number }
        let number = Int32(clamping: names.count)
        names[name] = number
        return number
    }

    /// The index of the deciding rule, or nil. Does not allocate.
    func firstMatch(app: AppName, className: ClassName) -> Int? {
        if first.isEmpty { return nil }
        let app = apps.isEmpty ? Self.any : apps[app] ?? Self.any
        let className = classes.isEmpty ? Self.any : classes[className] ?? Self.any
        var best = first[Key(app: Self.any, className: Self.any)]
        func consider(_ key: Key) {
            guard let index = first[key] else { return }
            best = min(best ?? index, index)
        }
        if app != Self.any { consider(Key(app: app, className: Self.any)) }
        if className != Self.any { consider(Key(app: Self.any, className: className)) }
        if app != Self.any, className != Self.any {
            consider(Key(app: app, className: className))
        }
        return best
    }
}
