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
}
