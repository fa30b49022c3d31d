import Gate
import Wire

/// How many writes were refused since the start, by app and by the rule that decided.
///
/// Each named count is exact. Once there are as many as have room, what others are refused is
/// one sum: names of apps cost an attacker nothing where the local broker proves none.
struct RefusalTally: Sendable {
    /// With the sum of the others there are 64 entries at most.
    static let namedLimit = 63

    private struct Key: Hashable {
        /// Nil where the topic names no app.
        let app: AppName?
        let rule: RuleID
    }

    private var counts: [Key: Int64] = [:]
    private var others: Int64 = 0
    private(set) var total: Int64 = 0

    mutating func add(_ app: AppName?, _ rule: RuleID) {
        total += 1
        let key = Key(app: app, rule: rule)
        if counts[key] != nil || counts.count < Self.namedLimit {
            counts[key, default: 0] += 1
        } else {
            others += 1
        }
    }

    /// The largest first; those of equal size in the order of their names.
    var entries: [RefusalCount] {
        var entries = counts.map { key, count in
            RefusalCount(
                app: key.app?.description ?? RefusalCount.any, rule: key.rule.description,
                count: count)
        }
        if others > 0 {
            entries.append(
                RefusalCount(app: RefusalCount.any, rule: RefusalCount.any, count: others))
        }
        return entries.sorted { left, right in
            (-left.count, left.app, left.rule) < (-right.count, right.app, right.rule)
        }
    }
}
