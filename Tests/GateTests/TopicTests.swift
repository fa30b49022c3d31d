import Foundation
import Gate
import Testing

/// The published cases: facts of the standard, and of two implementations' own tests.
private struct Vectors: Decodable {
    struct Match: Decodable, Sendable {
        let filter: String
        let topic: String
        let expect: String
    }

    struct Cover: Decodable, Sendable {
        let acl: String
        let subscription: String
        let covered: Bool?
    }

    struct Filter: Decodable, Sendable {
        let filter: String
        let valid: Bool
    }

    let topic_match: [Match]
    let acl_covers_subscription: [Cover]
    let topic_filter_valid: [Filter]

    static let published: Vectors? = {
        let url = URL(filePath: #filePath).appending(
            path: "../../../../shared/vectors/topic-vectors.json")
        guard let data = try? Data(contentsOf: url.standardized) else {
            print("skipped: the published topic vectors are not beside this package")
            return nil
        }
        do {
            return try JSONDecoder().decode(Vectors.self, from: data)
        } catch {
            Issue.record("the published topic vectors cannot be read: \(error)")
            return nil
        }
    }()
}

@Suite("Topic filter")
struct TopicTests {
    @Test("agrees with the published cases of matching")
    func publishedMatches() {
        for row in Vectors.published?.topic_match ?? [] {
            let filter = TopicFilter(row.filter)
            #expect((filter == nil) == (row.expect == "invalid-filter"), "\(row)")
            if let filter {
                #expect(filter.matches(row.topic) == (row.expect == "match"), "\(row)")
                #expect(
                    filter.matches(bytes: row.topic.utf8.span) == (row.expect == "match"),
                    "\(row)")
            }
        }
    }

    @Test("agrees with the published cases of validity")
    func publishedFilters() {
        for row in Vectors.published?.topic_filter_valid ?? [] {
            #expect((TopicFilter(row.filter) != nil) == row.valid, "\(row)")
        }
    }

    @Test("agrees with the published cases of covering")
    func publishedCovers() throws {
        for row in Vectors.published?.acl_covers_subscription ?? [] {
            guard let expected = row.covered else { continue }
            let outer = try #require(TopicFilter(row.acl))
            let inner = try #require(TopicFilter(row.subscription))
            #expect(outer.covers(inner) == expected, "\(row)")
        }
    }

    @Test("is bounded by 65535 bytes")
    func bound() throws {
        let longest = String(repeating: "a", count: 65_535)
        #expect(try #require(TopicFilter(longest)).matches(longest))
        #expect(TopicFilter(longest + "a") == nil)
        #expect(try #require(TopicFilter("#")).matches(longest))
        #expect(try !#require(TopicFilter("#")).matches(longest + "a"))
        #expect(TopicFilter(String(repeating: "+/", count: 30_000) + "#") != nil)
    }

    @Test("keep a level apart that begins with a combining mark")
    func combiningMark() throws {
        let filter = try #require(TopicFilter("+/\u{36F}"))
        let one = try #require(TopicFilter("+"))
        #expect(filter.matches("a/\u{36F}") && !one.matches("a/\u{36F}"))
        #expect(!filter.overlaps(one) && !one.overlaps(filter))
        #expect(!filter.covers(one) && !one.covers(filter))
    }

    @Test("tells overlap and cover as a search through all small topics does")
    func setsAgreeWithSearch() throws {
        let levels = ["a", "\u{301}", "", "$x", "+", "#"]
        let topics = Self.paths(["a", "\u{301}", "", "$x", "c"], upTo: 3).filter { !$0.isEmpty }
        let filters = Self.paths(levels, upTo: 3).compactMap { TopicFilter($0) }
        let sets = filters.map { filter in Set(topics.filter { filter.matches($0) }) }
        for (left, mine) in zip(filters, sets) {
            for (right, theirs) in zip(filters, sets) {
                #expect(
                    left.overlaps(right) == !mine.isDisjoint(with: theirs), "\(left) \(right)")
                #expect(
                    left.covers(right) == (mine.isSuperset(of: theirs) && Self.deep(left, right)),
                    "\(left) covers \(right)")
            }
        }
    }

    /// Whether `left` reaches as deep as `right`: what a search of three levels cannot see.
    private static func deep(_ left: TopicFilter, _ right: TopicFilter) -> Bool {
        !right.description.hasSuffix("#") || left.description.hasSuffix("#")
    }

    private static func paths(_ levels: [String], upTo depth: Int) -> [String] {
        var all: [String] = []
        var last = levels
        for _ in 1...depth {
            all += last
            last = last.flatMap { head in levels.map { "\(head)/\($0)" } }
        }
        return all
    }
}
