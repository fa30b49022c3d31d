import Gate
import Wire

/// The number of writes refused since the start, by app and rule.
///
/// Each named count is exact. When all `namedLimit` entries are used, one sum counts the rest. If
/// the local broker does not verify app names, an attacker can invent any number of them.
struct RefusalTally: Sendable {
    /// With the sum of the rest there are at most 64 entries.
    static let namedLimit = 63

    private struct Key: Hashable {
        /// Nil if the topic names no app.
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

    /// Sorted by count, largest first; equal counts are sorted by name.
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
