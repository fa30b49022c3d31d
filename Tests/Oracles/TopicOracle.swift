import Gate
import Sessions
import Wire

/// Holds topics and filters against what the standard says of them in the plainest words.
package enum TopicOracle {
    /// What is wrong with how the lines of an input are read: a topic, then up to three filters.
    package static func complaint(about input: [UInt8]) -> String? {
        let lines = input.split(
            separator: UInt8(ascii: "\n"), maxSplits: 3, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard let topic = lines.first else { return nil }
        let filters = lines.dropFirst().compactMap { TopicFilter($0) }
        for filter in filters {
            if let complaint = complaint(about: topic, by: filter) { return complaint }
            for other in filters {
                if let complaint = complaint(about: filter, other, topic) { return complaint }
            }
        }
        return routed(topic, by: filters) ?? names(in: topic)
    }

    /// Of routes that do not overlap, the one whose filter matches takes the topic.
    private static func routed(_ topic: String, by filters: [TopicFilter]) -> String? {
        guard let name = ClassName("Reading"), topic.utf8.first != UInt8(ascii: "$") else {
            return nil
        }
        var routes: [Route] = []
        for filter in filters where !routes.contains(where: { $0.from.overlaps(filter) }) {
            guard let app = AppName("app-\(routes.count)") else { continue }
            routes.append(
                Route(line: 1, from: filter, app: app, className: name, operation: .create))
        }
        let expected = routes.first { isMatch($0.from, topic) }?.app
        switch RouteTable(routes).entry(of: topic) {
        case .write(let write): return write.app == expected ? nil : "another route takes it"
        case .refused: return "a route refuses it"
        case nil: return expected == nil ? nil : "its route leaves it"
        }
    }

    private static func complaint(about topic: String, by filter: TopicFilter) -> String? {
        guard TopicFilter(filter.description) == filter else { return "is not read back" }
        guard filter.matches(topic) == isMatch(filter, topic) else { return "matches wrongly" }
        guard filter.matches(bytes: topic.utf8.span) == filter.matches(topic) else {
            return "matches text and bytes differently"
        }
        guard witnesses(filter, filter).contains(where: filter.matches) else {
            return "matches nothing"
        }
        return filter.overlaps(filter) && filter.covers(filter) ? nil : "does not hold itself"
    }

    private static func complaint(
        about left: TopicFilter, _ right: TopicFilter, _ topic: String
    ) -> String? {
        let overlaps = left.overlaps(right)
        guard overlaps == right.overlaps(left) else { return "overlaps one way" }
        let isShared = witnesses(left, right).contains { left.matches($0) && right.matches($0) }
        guard overlaps == isShared else { return "overlaps is \(overlaps), a topic says not" }
        let isHeld = left.matches(topic)
        if isHeld, right.matches(topic), !overlaps { return "shares a topic but overlaps not" }
        guard left.covers(right) else { return nil }
        guard overlaps else { return "covers without overlapping" }
        if right.matches(topic), !isHeld { return "covers what it does not match" }
        let escaped = witnesses(right, right).first { right.matches($0) && !left.matches($0) }
        return escaped.map { "covers, but not \($0)" }
    }

    /// Level by level. Source: MQTT 5.0 §4.7.1, §4.7.2, §4.7.3.
    private static func isMatch(_ filter: TopicFilter, _ topic: String) -> Bool {
        guard (1...65_535).contains(topic.utf8.count),
            topic.utf8.allSatisfy({ $0 != 0 && !"+#".utf8.contains($0) })
        else { return false }
        var wanted = levels(filter.description)
        var given = levels(topic)
        if given[0].first == UInt8(ascii: "$"), isWild(wanted[0]) { return false }
        if isMany(wanted[wanted.count - 1]) {
            wanted.removeLast()
            guard given.count >= wanted.count else { return false }
            given = Array(given.prefix(wanted.count))
        }
        return wanted.count == given.count
            && zip(wanted, given).allSatisfy { $0 == $1 || isOne($0) }
    }

    /// Topics of which one matches both filters, if any topic at all does.
    private static func witnesses(_ left: TopicFilter, _ right: TopicFilter) -> [String] {
        let levels = [levels(left.description), levels(right.description)]
        let longest = max(levels[0].count, levels[1].count)
        return (max(1, longest - 1)...longest + 1).flatMap { count in
            ["x", "", "$"].map { filler in
                (0..<count).map { index -> String in
                    let named = levels.compactMap { $0.indices.contains(index) ? $0[index] : nil }
                        .first { !isWild($0) }
                    return named.map { String(decoding: $0, as: UTF8.self) } ?? filler
                }.joined(separator: "/")
            }
        }
    }

    private static func levels(_ text: String) -> [[UInt8]] {
        text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { Array($0) }
    }

    private static func isOne(_ level: [UInt8]) -> Bool { level == [UInt8(ascii: "+")] }
    private static func isMany(_ level: [UInt8]) -> Bool { level == [UInt8(ascii: "#")] }
    private static func isWild(_ level: [UInt8]) -> Bool { isOne(level) || isMany(level) }

    // MARK: The contract's topics, of which printing and parsing are inverses.

    private static func names(in topic: String) -> String? {
        switch BusRequest(topic) {
        case .write(let app, let path):
            let record = path.record.map { "/\($0)" } ?? ""
            let printed = "postern/app/\(app)/\(path.operation)/\(path.className)\(record)"
            guard isSame(printed, topic) else { return "a write's topic is not read back" }
        case .read(let app, let query, let id):
            let of = id.map { "/\($0)" } ?? ""
            guard isSame("postern/app/\(app)/get/\(query)\(of)", topic) else {
                return "a read's topic is not read back"
            }
        case .answer(let app, let id):
            guard isSame("postern/app/\(app)/answer/\(id)", topic) else {
                return "an answer's topic is not read back"
            }
        case .malformed, nil: break
        }
        if let parsed = ContractTopic(topic, under: .standard) {
            guard isSame(parsed.text(under: .standard), topic) else {
                return "a contract's topic is not read back"
            }
        }
        if let app = AppName("thermo"), BusTopic.isResponse(topic, for: app) {
            let folder = TopicFilter("postern/app/thermo/#")
            // The agent's own answers have a mark, so those on an answer's topic are not read.
            let isAnswer = if case .answer = BusRequest(topic) { true } else { false }
            guard folder?.matches(topic) == true, isAnswer || BusRequest(topic) == nil else {
                return "answers where requests go"
            }
        }
        return recordPath(topic)
    }

    private static func recordPath(_ topic: String) -> String? {
        let parts = topic.split(separator: "/", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count),
            let path = RecordPath(
                className: parts[0], operation: parts[1], record: parts.dropFirst(2).first)
        else { return nil }
        return isSame(path.dataLevels, topic) ? nil : "a record's path is not read back"
    }

    private static func isSame(_ left: String, _ right: String) -> Bool {
        left.utf8.elementsEqual(right.utf8)
    }
}
