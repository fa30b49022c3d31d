/// Looks for well-formed rules that are probably mistakes. It reports certain mistakes and probable
/// typing errors. No finding makes a policy invalid.
package struct PolicyLint: Sendable {
    let policy: Policy
    let scope: Scope?
    let routes: [Route]
    /// The line of each `[app.NAME]`.
    let appLines: [AppName: Int]
    /// Names that are used elsewhere.
    let seenClasses: Set<ClassName>
    let seenApps: Set<AppName>

    package init(
        policy: Policy, scope: Scope? = nil, routes: [Route] = [],
        appLines: [AppName: Int] = [:], seenClasses: Set<ClassName> = [],
        seenApps: Set<AppName> = []
    ) {
        self.policy = policy
        self.scope = scope
        self.routes = routes
        self.appLines = appLines
        self.seenClasses = seenClasses
        self.seenApps = seenApps
    }

    /// Sorted by file and line, then by kind.
    package var findings: [PolicyFinding] {
        var found = unreachable()
        for rule in policy.rules {
            found += closed(rule)
            found += scopeFindings(rule)
            found += sizes(rule)
            found += ineffective(rule)
        }
        found += classTypos() + appTypos() + refusedRoutes()
        return found.enumerated().sorted { left, right in
            let (one, other) = (left.element.place.order, right.element.place.order)
            return (one.0, one.1, left.offset) < (other.0, other.1, right.offset)
        }
        .map(\.element)
    }

    func finding(_ kind: PolicyFinding.Kind, _ rule: Rule, _ text: String) -> PolicyFinding {
        PolicyFinding(kind: kind, rule: rule.id, place: .policy(line: rule.line), text: text)
    }

    /// Reports each rule whose writes an earlier rule takes, with the first such rule.
    private func unreachable() -> [PolicyFinding] {
        var first: [Pattern: Rule] = [:]
        var found: [PolicyFinding] = []
        for rule in policy.rules {
            let wider = Pattern(rule).asWideOrWider.compactMap { first[$0] }
            if let earlier = wider.min(by: { $0.line < $1.line }) {
                found.append(finding(.unreachableRule, rule, """
                    no write reaches this rule: the one on line \(earlier.line), for \
                    \(earlier.subject), takes them all; \(remedy(rule, behind: earlier))
                    """))
            } else {
                first[Pattern(rule)] = rule
            }
        }
        return found
    }

    private func remedy(_ rule: Rule, behind earlier: Rule) -> String {
        guard Pattern(rule) == Pattern(earlier) else { return "put this rule first, or drop it" }
        // Both rules match the same writes, so changing their order would not help.
        let missing = Operation.allCases.filter {
            rule.allow.contains($0) && !earlier.allow.contains($0)
        }
        if missing.isEmpty { return "drop this rule" }
        let names = missing.map(\.rawValue).joined(separator: ", ")
        return "add \(names) to allow of that rule, or drop this rule"
    }

    private func closed(_ rule: Rule) -> [PolicyFinding] {
        guard let name = rule.className, name.isReserved else { return [] }
        return [finding(.closedClass, rule, """
            \(name) is a system class, which the built-in rules close; drop the rule
            """)]
    }

    private func sizes(_ rule: Rule) -> [PolicyFinding] {
        guard let size = rule.maxBytes, !rule.allow.isEmpty else { return [] }
        let builtin = ByteCount(bytes: Int64(Gate.payloadLimit))
        if size > builtin {
            return [finding(.sizeNotReached, rule, """
                max_bytes is \(size), but no payload above \(builtin) leaves a board; lower it
                """)]
        }
        if let app = rule.app, let limit = policy.apps[app]?.maxBytes, size > limit {
            return [finding(.sizeNotReached, rule, """
                max_bytes is \(size), but [app.\(app)] lets \(limit) pass; lower this one or \
                raise that one
                """)]
        }
        return []
    }

    private func ineffective(_ rule: Rule) -> [PolicyFinding] {
        guard rule.allow.isEmpty else { return [] }
        let keys = [
            rule.fields == nil ? nil : "fields", rule.maxBytes == nil ? nil : "max_bytes",
            rule.rate == nil ? nil : "rate",
        ].compactMap { $0 }
        guard !keys.isEmpty else { return [] }
        return [finding(.noEffect, rule, """
            allow = [] refuses all, so \(keys.joined(separator: ", ")) \
            \(keys.count == 1 ? "has" : "have") no effect; allow an operation or drop \
            \(keys.count == 1 ? "it" : "them")
            """)]
    }
}

/// The writes that a rule matches.
struct Pattern: Hashable {
    let app: AppName?
    let className: ClassName?

    init(_ rule: Rule) { self.init(rule.app, rule.className) }

    private init(_ app: AppName?, _ className: ClassName?) {
        self.app = app
        self.className = className
    }

    /// The writes that both patterns match; nil if there are none.
    func within(_ other: Pattern) -> Pattern? {
        if let app, let theirs = other.app, app != theirs { return nil }
        if let className, let theirs = other.className, className != theirs { return nil }
        return Pattern(app ?? other.app, className ?? other.className)
    }

    var asWideOrWider: Set<Pattern> {
        [self, Pattern(nil, className), Pattern(app, nil), Pattern(nil, nil)]
    }
}

extension PolicyFinding.Place {
    /// Sorts the policy's lines before the routes' lines.
    fileprivate var order: (Int, Int) {
        switch self {
        case .policy(let line): (0, line)
        case .route(let line): (1, line)
        }
    }
}
