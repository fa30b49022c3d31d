import Gate
import Sessions
import Testing

@Suite("Route table")
struct RouteTableTests {
    private static let names = ["a", "b", "", "ab", "a\u{301}", "á"]

    private static func filter(using random: inout SeededGenerator) -> TopicFilter? {
        let depth = Int.random(in: 1...5, using: &random)
        var levels = (0..<depth).map { _ in
            Int.random(in: 0..<3, using: &random) == 0
                ? "+" : names.randomElement(using: &random) ?? ""
        }
        if Int.random(in: 0..<4, using: &random) == 0 { levels.append("#") }
        return TopicFilter(levels.joined(separator: "/"))
    }

    private static func topic(using random: inout SeededGenerator) -> String {
        let odd = ["c", "$x", "+", "#", "\0"]
        let depth = Int.random(in: 1...6, using: &random)
        return (0..<depth).map { _ in
            (Int.random(in: 0..<12, using: &random) == 0 ? odd : names)
                .randomElement(using: &random) ?? ""
        }.joined(separator: "/")
    }

    /// Routes that are told apart by their classes: `C0`, `C1`, …
    private static func table(_ filters: [TopicFilter]) throws -> RouteTable {
        let app = try #require(AppName("z"))
        return RouteTable(try filters.enumerated().map { index, filter in
            Route(
                line: index + 1, from: filter, app: app,
                className: try #require(ClassName("C\(index)")), operation: .create)
        })
    }

    private static func found(_ table: RouteTable, _ topic: String) -> Int? {
        guard case .write(let write)? = table.entry(of: topic) else { return nil }
        return Int(write.className.description.dropFirst())
    }

    @Test("finds what a search through all filters finds", arguments: 0..<200)
    func agreesWithSearch(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var filters: [TopicFilter] = []
        for _ in 0..<Int.random(in: 1...40, using: &random) {
            guard let filter = Self.filter(using: &random),
                !filters.contains(where: filter.overlaps)
            else { continue }
            filters.append(filter)
        }
        #expect(TopicFilter.firstOverlap(in: filters) == nil)
        let table = try Self.table(filters)
        for _ in 0..<200 {
            let topic = Self.topic(using: &random)
            let matching = filters.indices.filter { filters[$0].matches(topic) }
            #expect(matching.count <= 1, "\(topic) in \(filters)")
            let expected = topic.hasPrefix("$") ? nil : matching.first
            #expect(Self.found(table, topic) == expected, "\(topic) in \(filters)")
        }
    }

    @Test("finds one that matches even if routes overlap, and none if none does",
        arguments: 0..<200)
    func overlapping(seed: UInt64) throws {
        var random = SeededGenerator(seed: 1000 + seed)
        let filters = (0..<30).compactMap { _ in Self.filter(using: &random) }
        let table = try Self.table(filters)
        for _ in 0..<200 {
            let topic = Self.topic(using: &random)
            let matching = filters.indices.filter { filters[$0].matches(topic) }
            let found = Self.found(table, topic)
            guard !topic.hasPrefix("$"), !matching.isEmpty else {
                #expect(found == nil, "\(topic) in \(filters)")
                continue
            }
            #expect(found.map { matching.contains($0) } == true, "\(topic) in \(filters)")
        }
    }

    @Test("finds each of a thousand routes, and nothing beside them")
    func many() throws {
        let filters = try (0..<1000).map { try #require(TopicFilter("house\($0)/+/state")) }
        let table = try Self.table(filters)
        for index in filters.indices {
            #expect(Self.found(table, "house\(index)/x/state") == index)
            #expect(table.entry(of: "house\(index)/x") == nil)
            #expect(table.entry(of: "house\(index)/x/state/y") == nil)
        }
        #expect(table.entry(of: "house1000/x/state") == nil)
    }

    @Test("is empty without routes")
    func empty() {
        for topic in ["", "/", "a", "a/b", "$SYS"] { #expect(RouteTable().entry(of: topic) == nil) }
    }

    @Test("names the first two that overlap", arguments: [
        (["a/+", "b/+", "a/b"], [0, 2]), (["a", "b", "c"], []), (["a/#", "a"], [0, 1]),
        (["a/b", "a/b"], [0, 1]), (["+/b", "a/+"], [0, 1]), (["+/b", "$x/b"], []),
        (["a/+", "a/\u{301}b"], [0, 1]), (["a/\u{E9}", "a/e\u{301}"], []), (["/#", "/a"], [0, 1]),
        (["a/#", "b/#", "+/b/c"], [0, 2]),
    ])
    func overlaps(filters: [String], places: [Int]) {
        let found = TopicFilter.firstOverlap(in: filters.compactMap(TopicFilter.init))
        #expect(found.map { [$0.earlier, $0.later] } ?? [] == places)
    }
}
