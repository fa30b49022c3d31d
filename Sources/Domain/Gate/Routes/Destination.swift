/// Where a routed write goes, if not to the contract's topic for it.
package enum Destination: Hashable, Sendable {
    /// Behind the contract's topic, in which a consumer still reads the class and operation
    /// that were judged.
    case behind(FurtherLevels)
    /// To a topic outside the contract's root. The session's scope must grant it.
    case elsewhere(String)
}

/// Levels behind a board's data topic: at least one, none of them empty, at most 160 bytes.
package struct FurtherLevels: Hashable, Sendable, CustomStringConvertible {
    /// In bytes. With the longest root, class and object id a topic stays below 512.
    package static let longest = 160

    package let description: String

    /// Nil where a level is empty, has a wildcard or NUL, or all are too long.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy(TopicByte.isPlain),
            !text.topicLevels.contains(where: \.isEmpty)
        else { return nil }
        description = String(text)
    }
}

/// `to` of a route: a destination in which captures are still to be filled in.
struct DestinationText: Hashable, Sendable, CustomStringConvertible {
    private enum Base: Hashable {
        case behind
        case elsewhere
    }

    /// Of a topic outside the contract's root, in bytes.
    static let longest = 256
    private static let data = "{data}"

    let description: String
    private let base: Base
    private let text: RouteText
    private let reserved: [TopicFilter]

    /// Nil for `{data}` alone, which is the contract's topic.
    ///
    /// Refuses what is not allowed whatever is filled in. `reserved` are the topics that no
    /// route leads to: the contract's and the agent's own.
    init?(
        _ source: String, wildcards: Int, reserved: [TopicFilter]
    ) throws(GrammarError) {
        if source == Self.data { return nil }
        let levels = source.topicLevels
        let isBehind = levels.first == Self.data[...] && levels.count > 1
        guard isBehind || !source.contains(Self.data) else {
            throw GrammarError("{data} stands first, alone or before a slash")
        }
        description = source
        base = isBehind ? .behind : .elsewhere
        self.reserved = reserved
        let rest = isBehind ? levels.dropFirst().joined(separator: "/") : source
        text = try RouteText(rest, wildcards: wildcards)
        // No level of a topic root is a dot: what is wrong with this is wrong with all.
        let sample = [Substring](repeating: ".", count: wildcards)
        if let fault = fault(in: text.text(captures: sample)) { throw GrammarError(fault) }
    }

    /// What it comes to, or why that is no topic to publish to.
    func destination(captures: [Substring]) -> Result<Destination, GrammarError> {
        if text.wildcards.contains(where: { captures.indices.contains($0) && captures[$0].isEmpty })
        {
            return .failure(GrammarError("a level that the route passes on is empty"))
        }
        let made = text.text(captures: captures)
        if let fault = fault(in: made) { return .failure(GrammarError(fault)) }
        guard base == .behind else { return .success(.elsewhere(made)) }
        return FurtherLevels(made).map { .success(.behind($0)) }
            ?? .failure(GrammarError("the levels behind {data} are no topic's"))
    }

    /// A filter that matches all topics outside the contract's root to which it may come; nil
    /// where it comes to none.
    func topicsElsewhere(from: TopicFilter) -> TopicFilter? {
        guard base == .elsewhere else { return nil }
        let count = from.wildcards
        let captures = (0..<count).map { from.endsInMany && $0 == count - 1 ? "#" : "+" }
        var levels: [String] = []
        for level in text.text(captures: captures.map { $0[...] }).topicLevels {
            // What a # stood for may have any number of levels.
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
            return FurtherLevels(made) == nil
                ? "behind {data} stand 1 to \(FurtherLevels.longest) bytes, no level empty" : nil
        }
        guard (1...Self.longest).contains(made.utf8.count) else {
            return "a topic outside the contract's has 1 to \(Self.longest) bytes"
        }
        if made.topicLevels.count > TopicFilter.mostLevels {
            return "a topic outside the contract's has at most \(TopicFilter.mostLevels) levels"
        }
        if made.utf8.first == TopicByte.dollar { return "topics that begin with $ are a server's" }
        if let filter = reserved.first(where: { $0.matches(made) }) {
            return "no route leads to \(filter), which is Postern's own; data goes to {data}/…"
        }
        return nil
    }
}
