import Sessions

/// Token buckets for the rates of apps and rules; its owner gives it the time.
package struct RateLimiter: Sendable {
    /// For each rule and app the time at which its bucket will be full again.
    private var fullAt: [Key: Duration] = [:]
    /// Above this many buckets the full ones are forgotten, which changes no verdict.
    private static let manyBuckets = 1024

    private struct Key: Hashable {
        let rule: RuleID
        let app: AppName
    }

    package init() {}

    /// Takes one token of each rate, or none and returns why not. `now` never goes back.
    package mutating func admit(
        _ app: AppName, _ rates: [(rule: RuleID, rate: Rate)], at now: Duration
    ) -> Rejection? {
        for (rule, rate) in rates {
            let full = fullAt[Key(rule: rule, app: app)] ?? now
            let wait = full + rate.interval - now - rate.depth
            if wait > .zero { return Rejection(.rateLimit, rule, .rate(rate, wait: wait)) }
        }
        guard !rates.isEmpty else { return nil }
        if fullAt.count > Self.manyBuckets { fullAt = fullAt.filter { $0.value > now } }
        for (rule, rate) in rates {
            let key = Key(rule: rule, app: app)
            fullAt[key] = max(fullAt[key] ?? now, now) + rate.interval
        }
        return nil
    }

    /// Carries the buckets over to another policy file.
    ///
    /// A rule's bucket goes with its app and class, not with its line: of the rules for one app
    /// and class only the first is ever asked. A bucket is never fuller than before, nor emptier
    /// than the new rate lets one be; one without a rate any more is forgotten.
    package mutating func carry(from old: Policy?, to new: Policy?, at now: Duration) {
        let moved = Self.sameRules(old, new)
        var carried: [Key: Duration] = [:]
        for (key, full) in fullAt {
            switch key.rule.layer {
            case .policyApp(let app):
                guard let rate = new?.apps[app]?.rate else { continue }
                carried[key] = min(full, now + rate.depth)
            case .policy:
                guard let rule = moved[key.rule], let rate = rule.rate else { continue }
                carried[Key(rule: rule.id, app: key.app)] = min(full, now + rate.depth)
            case .builtin, .scope, .scopeTopics, .route: carried[key] = full
            }
        }
        fullAt = carried
    }

    private struct Match: Hashable {
        let app: AppName?
        let className: ClassName?

        init(_ rule: Rule) {
            app = rule.app
            className = rule.className
        }
    }

    /// For each rule of the old file the new one that takes its place.
    private static func sameRules(_ old: Policy?, _ new: Policy?) -> [RuleID: Rule] {
        let new = Dictionary((new?.rules ?? []).map { (Match($0), $0) }) { first, _ in first }
        return Dictionary(
            (old?.rules ?? []).compactMap { rule in new[Match(rule)].map { (rule.id, $0) } }
        ) { first, _ in first }
    }
}
