/// The destination of a routed write that does not go to the contract's topic.
package enum Destination: Hashable, Sendable {
    /// Behind the contract's topic. A consumer still sees there the class and operation that the
    /// gate checked.
    case behind(TopicSuffix)
    /// A topic outside the contract's root. The session's scope must grant it.
    case elsewhere(String)
}

/// Levels behind a board's data topic: at least one, none empty, at most 160 bytes in all.
package struct TopicSuffix: Hashable, Sendable, CustomStringConvertible {
    /// In bytes. With the longest root, class and object id, a topic is still shorter than 512
    /// bytes.
    package static let longest = 160

    package let description: String

    /// Nil if a level is empty, contains a wildcard or NUL, or if the text is too long.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy(TopicByte.isPlain),
            !text.topicLevels.contains(where: \.isEmpty)
        else { return nil }
        description = String(text)
    }
}

/// The `to` of a route: a destination whose captures are not filled in yet.
struct DestinationText: Hashable, Sendable, CustomStringConvertible {
    private enum Base: Hashable {
        case behind
        case elsewhere
    }

    /// The longest topic outside the contract's root, in bytes.
    static let longest = 256
    private static let data = "{data}"

    let description: String
    private let base: Base
    private let text: RouteText
    private let reserved: [TopicFilter]

    /// Nil for `{data}` alone, which is the contract's topic.
    ///
    /// Throws if the text is wrong for every capture. `reserved` are the topics that no route may
    /// lead to: the contract's and the agent's own.
    init?(
        _ source: String, wildcards: Int, reserved: [TopicFilter]
    ) throws(GrammarError) {
        if source == Self.data { return nil }
        let levels = source.topicLevels
        let isBehind = levels.first == Self.data[...] && levels.count > 1
        guard isBehind || !source.contains(Self.data) else {
            throw GrammarError("{data} must come first, alone or before a slash")
        }
        description = source
        base = isBehind ? .behind : .elsewhere
        self.reserved = reserved
        let rest = isBehind ? levels.dropFirst().joined(separator: "/") : source
        text = try RouteText(rest, wildcards: wildcards)
        // No level of a topic root is a dot, so a fault in this sample is a fault for every
        // capture.
        let sample = [Substring](repeating: ".", count: wildcards)
        if let fault = fault(in: text.text(captures: sample)) { throw GrammarError(fault) }
    }

    /// The destination for these captures, or the reason why it is not a topic to publish to.
    func destination(captures: [Substring]) -> Result<Destination, GrammarError> {
        if text.wildcards.contains(where: { captures.indices.contains($0) && captures[$0].isEmpty })
        {
            return .failure(GrammarError("a level that the route passes on is empty"))
        }
        let made = text.text(captures: captures)
        if let fault = fault(in: made) { return .failure(GrammarError(fault)) }
        guard base == .behind else { return .success(.elsewhere(made)) }
        return TopicSuffix(made).map { .success(.behind($0)) }
            ?? .failure(GrammarError("the levels after {data} make no valid topic"))
    }

    /// A filter that matches all topics outside the contract's root that this may lead to. Nil if
    /// it leads to none.
    func topicsElsewhere(from: TopicFilter) -> TopicFilter? {
        guard base == .elsewhere else { return nil }
        let count = from.wildcards
        let captures = (0..<count).map { from.endsInMany && $0 == count - 1 ? "#" : "+" }
        var levels: [String] = []
        for level in text.text(captures: captures.map { $0[...] }).topicLevels {
            // The text that a # matches may have any number of levels.
            if level.utf8.contains(TopicByte.many) {
                levels.append("#")
                break
            }
            levels.append(level.utf8.contains(TopicByte.one) ? "+" : String(level))
        }
        return TopicFilter(levels.joined(separator: "/"))
    }

    private func fault(in made: String) -> String? {
        if made.utf8.contains(where: { !TopicByte.isPlain($0) }) {
            return "a topic to publish to has no + and no #"
        }
        if base == .behind {
            return TopicSuffix(made) == nil
                ? "after {data} come 1 to \(TopicSuffix.longest) bytes, no level empty" : nil
        }
        guard (1...Self.longest).contains(made.utf8.count) else {
            return "a topic outside the contract's has 1 to \(Self.longest) bytes"
        }
        if made.topicLevels.count > TopicFilter.mostLevels {
            return "a topic outside the contract's has at most \(TopicFilter.mostLevels) levels"
        }
        if made.utf8.first == TopicByte.dollar {
            return "topics that begin with $ are the server's"
        }
        if let filter = reserved.first(where: { $0.matches(made) }) {
            return "a route must not lead to \(filter), Postern's own; use {data}/… for data"
        }
        return nil
    }
}
