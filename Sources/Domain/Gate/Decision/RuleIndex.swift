/// Finds the first rule for an app and a class. The time does not grow with the number of rules.
///
/// A rule matches by app and class alone. So of the rules with the same app and class only the
/// first can decide. The deciding rule is the first of at most four candidates.
struct RuleIndex: Sendable {
    private struct Pair: Hashable {
        let app: Int
        let className: Int
    }

    /// The names in the rules, numbered. Any other name matches only rules for any app or class.
    private var apps: [AppName: Int] = [:]
    private var classes: [ClassName: Int] = [:]

    // The first rule for any app and class, for one app, for one class, and for both.
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
