/// Filters as sets of topics: whether two overlap, and whether one covers the other.
extension TopicFilter {
    /// A filter's levels as bytes, because canonically equal texts are different topics.
    /// Source: MQTT 5.0 §4.7.3.
    private typealias Levels = [[UInt8]]

    private static let one = [TopicByte.one]
    private static let many = [TopicByte.many]

    private var levels: Levels { description.topicLevels.map { Array($0.utf8) } }

    /// Whether at least one topic matches both filters.
    package func overlaps(_ other: TopicFilter) -> Bool { Self.overlap(levels, other.levels) }

    /// The indexes of the first two filters that overlap, the lower index first.
    package static func firstOverlap(in filters: [TopicFilter]) -> (earlier: Int, later: Int)? {
        let all = filters.map(\.levels)
        for later in all.indices {
            for earlier in 0..<later where overlap(all[earlier], all[later]) {
                return (earlier, later)
            }
        }
        return nil
    }

    private static func overlap(_ left: Levels, _ right: Levels) -> Bool {
        // The parent of `/#` would be the empty topic, which is not a valid topic.
        if min(left.count, right.count) == 1, [left, right].contains([[], many]) {
            return left == [many] || right == [many]
        }
        for index in 0..<max(left.count, right.count) {
            guard index < left.count else { return right[index] == many }
            guard index < right.count else { return left[index] == many }
            let mine = left[index]
            let theirs = right[index]
            if index == 0, dollarEscapes(mine, theirs) { return false }
            if mine == many || theirs == many { return true }
            guard mine == one || theirs == one || mine == theirs else { return false }
        }
        return true
    }

    /// Whether every topic that matches `other` also matches this filter.
    package func covers(_ other: TopicFilter) -> Bool {
        // Every topic has a first level. A topic that begins with a slash has a second level.
        if other.description == "#", description == "+/#" { return true }
        if other.description == "/#", ["/+/#", "+/+/#"].contains(description) { return true }
        let left = levels
        let right = other.levels
        for index in 0..<max(left.count, right.count) {
            guard index < left.count else { return false }
            guard index < right.count else { return left[index] == Self.many }
            let mine = left[index]
            let theirs = right[index]
            if index == 0, Self.dollarEscapes(mine, theirs) { return false }
            if mine == Self.many { return true }
            if theirs == Self.many { return false }
            guard mine == Self.one || mine == theirs else { return false }
        }
        return true
    }

    /// Whether one first level is a wildcard and the other begins with `$`. A wildcard never
    /// matches `$` there. Source: MQTT 5.0 §4.7.2.
    private static func dollarEscapes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        func isWild(_ level: [UInt8]) -> Bool { level == one || level == many }
        func isDollar(_ level: [UInt8]) -> Bool { level.first == TopicByte.dollar }
        return isWild(left) && isDollar(right) || isDollar(left) && isWild(right)
    }
}

/// The levels that a filter's wildcards match.
extension TopicFilter {
    /// The number of wildcards in the filter.
    var wildcards: Int { levels.count { $0 == Self.one || $0 == Self.many } }

    var endsInMany: Bool { levels.last == Self.many }

    /// The text that each wildcard matches in a matching topic, in order. `+` matches one level.
    /// `#` matches all levels that are left, or none.
    func captures(of topic: String) -> [Substring] {
        let topicLevels = topic.topicLevels
        var captures: [Substring] = []
        for (index, level) in levels.enumerated() {
            let here = topicLevels.indices.contains(index) ? topicLevels[index] : ""
            if level == Self.one { captures.append(here) }
            guard level == Self.many else { continue }
            let isThere = topicLevels.indices.contains(index)
            captures.append(isThere ? topic[here.startIndex...] : "")
        }
        return captures
    }
}
