import Sessions

/// The rates that one write counts against: at most one of its app and one of each layer.
package struct AppliedRates: Sendable {
    /// A rate, and the rule that sets it.
    package struct Entry: Sendable {
        package let rule: RuleID
        package let rate: Rate

        package init(rule: RuleID, rate: Rate) {
            self.rule = rule
            self.rate = rate
        }
    }

    let app: Entry?
    let scope: Entry?
    let policy: Entry?

    package init(app: Entry? = nil, scope: Entry? = nil, policy: Entry? = nil) {
        self.app = app
        self.scope = scope
        self.policy = policy
    }

    /// The rates that are present, for display to people.
    package var entries: [Entry] { [app, scope, policy].compactMap { $0 } }
}

/// Token buckets for the rates of apps and rules. The caller supplies the time.
package struct RateLimiter: Sendable {
    /// For each rule and app, the time at which the bucket will be full again.
    private var fullAt: [Key: Duration] = [:]
    /// Above this many buckets the full ones are removed, which changes no verdict. The next
    /// removal waits for twice the number that was left. So the average cost of a take does not
    /// grow with the number of buckets.
    private var sweepAt = Self.manyBuckets
    private static let manyBuckets = 1024

    private struct Key: Hashable {
        let rule: RuleID
        let app: AppName
    }

    package init() {}

    /// Takes one token of each rate and returns nil. If a bucket is empty, takes none and returns
    /// why. `now` never goes back. Allocates only for new buckets.
    package mutating func admit(
        _ app: AppName, _ rates: borrowing AppliedRates, at now: Duration
    ) -> Rejection? {
        if let rejection = refusal(app, rates.app, at: now) { return rejection }
        if let rejection = refusal(app, rates.scope, at: now) { return rejection }
        if let rejection = refusal(app, rates.policy, at: now) { return rejection }
        take(app, rates.app, at: now)
        take(app, rates.scope, at: now)
        take(app, rates.policy, at: now)
        return nil
    }

    private func refusal(
        _ app: AppName, _ entry: AppliedRates.Entry?, at now: Duration
    ) -> Rejection? {
        guard let entry, let full = fullAt[Key(rule: entry.rule, app: app)] else { return nil }
        let wait = full + entry.rate.interval - now - entry.rate.depth
        guard wait > .zero else { return nil }
        return Rejection(.rateLimit, entry.rule, .rate(entry.rate, wait: wait))
    }

    private mutating func take(_ app: AppName, _ entry: AppliedRates.Entry?, at now: Duration) {
        guard let entry else { return }
        if fullAt.count > sweepAt {
            fullAt = fullAt.filter { $0.value > now }
            sweepAt = max(Self.manyBuckets, 2 * fullAt.count)
        }
        let full = fullAt[Key(rule: entry.rule, app: app), default: now]
        fullAt[Key(rule: entry.rule, app: app)] = max(full, now) + entry.rate.interval
    }

    /// Carries the buckets over to another policy file.
    ///
    /// A rule's bucket follows its app and class, not its line number: of the rules for one app and
    /// class only the first ever matches. A carried bucket never has more tokens than before. It is
    /// never emptier than the new rate allows. A bucket whose rate was removed is dropped.
    ///
    /// `ofApp`: the rate of an app that this limiter counts.
    package mutating func carry(
        from old: Policy?, to new: Policy?, ofApp: (AppLimit) -> Rate? = { $0.rate },
        at now: Duration
    ) {
        let moved = Self.sameRules(old, new)
        var carried: [Key: Duration] = [:]
        for (key, full) in fullAt {
            switch key.rule.layer {
            case .policyApp(let app):
                guard let limit = new?.apps[app], let rate = ofApp(limit) else { continue }
                carried[key] = min(full, now + rate.depth)
            case .policy:
                guard let rule = moved[key.rule], let rate = rule.rate else { continue }
                carried[Key(rule: rule.id, app: key.app)] = min(full, now + rate.depth)
            case .builtin, .scope, .scopeTopics, .route, .restoredRoute: carried[key] = full
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

    /// For each rule of the old file, the rule of the new file for the same app and class.
    private static func sameRules(_ old: Policy?, _ new: Policy?) -> [RuleID: Rule] {
        let new = Dictionary((new?.rules ?? []).map { (Match($0), $0) }) { first, _ in first }
        return Dictionary(
            (old?.rules ?? []).compactMap { rule in new[Match(rule)].map { (rule.id, $0) } }
        ) { first, _ in first }
    }
}
