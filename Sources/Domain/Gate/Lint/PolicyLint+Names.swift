/// Finds names that appear only once and are close to another name.
extension PolicyLint {
    /// Parse's classes that a person may write as `User`. Parse's other classes, such as
    /// `_Product`, have names that a board's own class may also have.
    private static let systemClasses = ["_User", "_Session", "_Role", "_Installation"]

    func classTypos() -> [PolicyFinding] {
        let mentions = policy.rules.compactMap { rule in
            rule.className.map {
                Mention(name: "\($0)", rule: rule.id, line: rule.line, key: "class")
            }
        }
        let elsewhere = Set(
            (scope?.rules.compactMap(\.className) ?? []).map(\.description)
                + routes.compactMap(\.className?.description) + seenClasses.map(\.description))
        var found: [PolicyFinding] = []
        for mention in mentions where !elsewhere.contains(mention.name) {
            guard let system = Self.systemClass(like: mention.name) else { continue }
            found.append(mention.finding(.systemClass, """
                \(mention.name) is not the system class \(system), which is closed to boards; \
                if you meant \(system), drop the rule
                """))
        }
        let systems = Set(found.map(\.rule))
        let suspects = mentions.filter { !systems.contains($0.rule) }
        return found + Self.typos(.classTypo, suspects, among: mentions, elsewhere: elsewhere)
    }

    func appTypos() -> [PolicyFinding] {
        var mentions = policy.rules.compactMap { rule in
            rule.app.map { Mention(name: "\($0)", rule: rule.id, line: rule.line, key: "app") }
        }
        mentions += policy.apps.keys.map { app in
            Mention(
                name: "\(app)", rule: .policyApp(app), line: appLines[app] ?? 0, key: "the app")
        }
        mentions.sort { ($0.line, $0.name) < ($1.line, $1.name) }
        let elsewhere = Set(
            (scope?.rules.compactMap(\.app) ?? []).map(\.description)
                + routes.map(\.app.description) + seenApps.map(\.description))
        return Self.typos(.appTypo, mentions, among: mentions, elsewhere: elsewhere)
    }

    /// Reports a name that appears once and is close to a known name. A name is known if it is used
    /// elsewhere, or if the file mentions it more often or earlier.
    private static func typos(
        _ kind: PolicyFinding.Kind, _ suspects: [Mention], among mentions: [Mention],
        elsewhere: Set<String>
    ) -> [PolicyFinding] {
        var counts: [String: Int] = [:]
        var first: [String: Int] = [:]
        for mention in mentions {
            counts[mention.name, default: 0] += 1
            first[mention.name] = min(first[mention.name] ?? .max, mention.line)
        }
        for name in elsewhere.union(counts.keys) {
            let isInUse = elsewhere.contains(name) || counts[name] ?? 0 > 1
            first[name] = isInUse ? -1 : first[name]
        }
        let known = NameNeighbours(first)
        return suspects.compactMap { mention in
            guard counts[mention.name] == 1, !elsewhere.contains(mention.name) else { return nil }
            let near = known.likelyMeant(by: mention.name, on: mention.line)
            return near.map { near in
                mention.finding(kind, """
                    \(mention.key) "\(mention.name)" appears nowhere else, but "\(near)" does; if \
                    you meant that, correct the name
                    """)
            }
        }
    }

    /// The system class that differs only by its `_` or by case; nil if `name` is that class.
    private static func systemClass(like name: String) -> String? {
        let bare = name.lowercased().drop { $0 == "_" }
        return systemClasses.first { $0 != name && $0.lowercased().dropFirst() == bare }
    }
}

/// One mention of a name in the file.
private struct Mention {
    let name: String
    let rule: RuleID
    let line: Int
    let key: String

    func finding(_ kind: PolicyFinding.Kind, _ text: String) -> PolicyFinding {
        PolicyFinding(kind: kind, rule: rule, place: .policy(line: line), text: text)
    }
}
