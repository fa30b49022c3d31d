/// Finds the first rule for an app and a class in a time that does not grow with the rules.
///
/// A rule matches by app and class alone, so of all the rules with the same two only the first
/// is ever asked; the deciding one is the first of at most four.
struct RuleIndex: Sendable {
    private struct Pair: Hashable {
        let app: Int
        let className: Int
    }

    /// The names that rules have, numbered; any other name meets only the rules for any.
    private var apps: [AppName: Int] = [:]
    private var classes: [ClassName: Int] = [:]

    // The first rule for any app and class, for each app, for each class, and for both.
    private var always: Int?
    private var byApp: [Int?] = []
    private var byClass: [Int?] = []
    private var byPair: [Pair: Int] = [:]

    init(_ rules: [Rule]) {
        for (index, rule) in rules.enumerated() {
            let app = rule.app.map { Self.number(of: $0, in: &apps, &byApp) }
            let className = rule.className.map { Self.number(of: $0, in: &classes, &byClass) }
            switch (app, className) {
            case (nil, nil): always = always ?? index
            case (let app?, nil): byApp[app] = byApp[app] ?? index
            case (nil, let className?): byClass[className] = byClass[className] ?? index
            case (let app?, let className?):
                let pair = Pair(app: app, className: className)
                byPair[pair] = byPair[pair] ?? index
            }
        }
    }

    private static func number<Name: Hashable>(
        of name: Name, in names: inout [Name: Int], _ rows: inout [Int?]
    ) -> Int {
        if let number = names[name] { return number }
        names[name] = rows.count
        rows.append(nil)
        return rows.count - 1
    }

    /// The index of the deciding rule, or nil. Does not allocate.
    func firstMatch(app: AppName, className: ClassName) -> Int? {
        let app = apps.isEmpty ? nil : apps[app]
        let className = classes.isEmpty ? nil : classes[className]
        var best = always ?? .max
        if let app { best = min(best, byApp[app] ?? .max) }
        if let className { best = min(best, byClass[className] ?? .max) }
        if let app, let className, !byPair.isEmpty {
            best = min(best, byPair[Pair(app: app, className: className)] ?? .max)
        }
        return best == .max ? nil : best
    }
}
