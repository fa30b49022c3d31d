/// Filters as sets of topics: what two share, and which holds the other.
extension TopicFilter {
    /// Split by bytes: a combining mark behind a slash makes it no other slash.
    private var levels: [Substring] {
        description.utf8.split(separator: TopicByte.separator, omittingEmptySubsequences: false)
            .map { Substring($0) }
    }

    /// Whether some topic matches both.
    package func overlaps(_ other: TopicFilter) -> Bool {
        let left = levels
        let right = other.levels
        // The parent of `/#` would be the empty topic, which is none.
        if min(left.count, right.count) == 1, [description, other.description].contains("/#") {
            return description == "#" || other.description == "#"
        }
        for index in 0..<max(left.count, right.count) {
            guard index < left.count else { return right[index] == "#" }
            guard index < right.count else { return left[index] == "#" }
            let pair = (left[index], right[index])
            if index == 0, Self.dollarEscapes(pair.0, pair.1) { return false }
            if pair.0 == "#" || pair.1 == "#" { return true }
            guard pair.0 == "+" || pair.1 == "+" || Self.same(pair.0, pair.1) else { return false }
        }
        return true
    }

    /// Whether each topic that matches `other` matches this filter, too.
    package func covers(_ other: TopicFilter) -> Bool {
        // Every topic has a first level, and one that begins with a slash has a second.
        if other.description == "#", description == "+/#" { return true }
        if other.description == "/#", ["/+/#", "+/+/#"].contains(description) { return true }
        let left = levels
        let right = other.levels
        for index in 0..<max(left.count, right.count) {
            guard index < left.count else { return false }
            guard index < right.count else { return left[index] == "#" }
            let pair = (left[index], right[index])
            if index == 0, Self.dollarEscapes(pair.0, pair.1) { return false }
            if pair.0 == "#" { return true }
            if pair.1 == "#" { return false }
            guard pair.0 == "+" || Self.same(pair.0, pair.1) else { return false }
        }
        return true
    }

    /// Whether one first level is a wildcard and the other begins with `$`, which it never
    /// matches. Source: MQTT 5.0 §4.7.2.
    private static func dollarEscapes(_ left: Substring, _ right: Substring) -> Bool {
        func isWild(_ level: Substring) -> Bool { level == "+" || level == "#" }
        func isDollar(_ level: Substring) -> Bool { level.utf8.first == TopicByte.dollar }
        return isWild(left) && isDollar(right) || isDollar(left) && isWild(right)
    }

    /// Byte for byte: canonically equal texts are different topics. Source: MQTT 5.0 §4.7.3.
    private static func same(_ left: Substring, _ right: Substring) -> Bool {
        left.utf8.elementsEqual(right.utf8)
    }
}
