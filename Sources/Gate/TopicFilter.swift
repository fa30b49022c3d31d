/// A topic filter. Its matcher is the gate's own: libmosquitto's stops at NUL.
///
/// Source: MQTT 5 §4.7.
package struct TopicFilter: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    private let levels: [Substring]

    /// Nil for an empty filter, more than 65,535 bytes, a NUL, or a wildcard that is not a
    /// whole level, `#` only as the last.
    package init?(_ text: String) {
        guard (1...65_535).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        let levels = text.split(separator: "/", omittingEmptySubsequences: false)
        for (index, level) in levels.enumerated() {
            let hasWildcard = level.utf8.contains { "+#".utf8.contains($0) }
            if hasWildcard, level.utf8.count != 1 { return nil }
            if level == "#", index != levels.count - 1 { return nil }
        }
        description = text
        self.levels = levels
    }

    /// Whether a message on `topic` is meant. A wildcard in the first level never means a
    /// topic that begins with `$`. Source: MQTT 5 §4.7.2.
    package func matches(_ topic: String) -> Bool {
        guard !topic.isEmpty, !topic.utf8.contains(where: { $0 == 0 || "+#".utf8.contains($0) })
        else { return false }
        if topic.utf8.first == UInt8(ascii: "$"), levels[0] == "+" || levels[0] == "#" {
            return false
        }
        var rest = topic.split(separator: "/", omittingEmptySubsequences: false)[...]
        for level in levels {
            if level == "#" { return true }
            guard let next = rest.popFirst(), level == "+" || level == next else { return false }
        }
        return rest.isEmpty
    }

    /// Whether there is a topic that both mean.
    package func overlaps(_ other: TopicFilter) -> Bool {
        var mine = levels[...]
        var theirs = other.levels[...]
        if let first = mine.first, let second = theirs.first {
            // `$` topics are out of reach of a wildcard in the first level.
            if first.hasPrefix("$"), second == "+" || second == "#" { return false }
            if second.hasPrefix("$"), first == "+" || first == "#" { return false }
        }
        while let first = mine.first, let second = theirs.first {
            if first == "#" || second == "#" { return true }
            guard first == "+" || second == "+" || first == second else { return false }
            mine.removeFirst()
            theirs.removeFirst()
        }
        return (mine.first ?? "#") == "#" && (theirs.first ?? "#") == "#"
    }
}

/// Another program's topic that enters as writes of one class.
package struct Route: Hashable, Sendable {
    /// Where it stands in `agent.toml`.
    package let line: Int
    package let from: TopicFilter
    package let app: AppName
    package let className: ClassName
    package let operation: Operation

    package init(
        line: Int, from: TopicFilter, app: AppName, className: ClassName, operation: Operation
    ) {
        self.line = line
        self.from = from
        self.app = app
        self.className = className
        self.operation = operation
    }
}
