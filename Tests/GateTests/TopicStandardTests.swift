import Gate
import Sessions
import Testing

/// The examples of the standard's own text, in its order: the filter, a topic, whether it
/// matches. Source: MQTT 5.0 §4.7.
@Suite("Topic filter and MQTT 5.0 §4.7")
struct TopicStandardTests {
    @Test("matches as the examples of §4.7.1 do", arguments: [
        // §4.7.1.1: adjacent separators indicate a zero-length level.
        ("a/+/b", "a//b", true), ("a//b", "a//b", true), ("a/b", "a//b", false),
        ("a//b", "a/b", false), ("+/+/+", "a//b", true), ("//+", "//", true), ("/", "/", true),
        // §4.7.1.2: a subscription to sport/tennis/player1/#.
        ("sport/tennis/player1/#", "sport/tennis/player1", true),
        ("sport/tennis/player1/#", "sport/tennis/player1/ranking", true),
        ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
        ("sport/tennis/player1/#", "sport/tennis/player2", false),
        ("sport/tennis/player1/#", "sport/tennis/player10", false),
        // sport/# also matches the singular sport, since # includes the parent level.
        ("sport/#", "sport", true), ("sport/#", "sport/", true), ("sport/#", "sports", false),
        // # is valid and receives every application message.
        ("#", "sport", true), ("#", "sport/tennis", true), ("#", "/", true), ("#", "/a", true),
        ("sport/tennis/#", "sport/tennis/player1", true),
        // §4.7.1.3: sport/tennis/+ matches one level.
        ("sport/tennis/+", "sport/tennis/player1", true),
        ("sport/tennis/+", "sport/tennis/player2", true),
        ("sport/tennis/+", "sport/tennis/player1/ranking", false),
        ("sport/+", "sport", false), ("sport/+", "sport/", true),
        ("+", "sport", true), ("+", "", false), ("+/tennis/#", "sport/tennis", true),
        ("+/tennis/#", "sport/tennis/player1", true), ("+/tennis/#", "sport/golf", false),
        ("sport/+/player1", "sport/tennis/player1", true),
        ("sport/+/player1", "sport/tennis/player2", false),
        // /finance matches +/+ and /+, but not +.
        ("+/+", "/finance", true), ("/+", "/finance", true), ("+", "/finance", false),
    ])
    func wildcards(filter: String, topic: String, matches: Bool) throws {
        try expect(filter, topic, matches)
    }

    @Test("matches as the examples of §4.7.2 do", arguments: [
        // A subscription to # receives nothing published to a topic that begins with $.
        ("#", "$SYS", false), ("#", "$SYS/monitor/Clients", false), ("#", "$", false),
        ("+", "$SYS", false), ("+/#", "$SYS/x", false),
        ("+/monitor/Clients", "$SYS/monitor/Clients", false),
        ("$SYS/#", "$SYS/monitor/Clients", true), ("$SYS/#", "$SYS", true),
        ("$SYS/#", "SYS/monitor", false),
        ("$SYS/monitor/+", "$SYS/monitor/Clients", true),
        // Only the first character counts.
        ("a/+", "a/$SYS", true), ("#", "a/$SYS", true), ("/+", "/$SYS", true),
    ])
    func dollar(filter: String, topic: String, matches: Bool) throws {
        try expect(filter, topic, matches)
    }

    @Test("matches as §4.7.3 has it", arguments: [
        // Names and filters are case sensitive: ACCOUNTS and Accounts are two.
        ("ACCOUNTS", "ACCOUNTS", true), ("ACCOUNTS", "Accounts", false),
        // They can include the space character.
        ("Accounts payable", "Accounts payable", true),
        // A leading or trailing / makes another name.
        ("/finance", "/finance", true), ("/finance", "finance", false),
        ("finance", "/finance", false), ("finance", "finance/", false),
        ("finance/", "finance", false), ("finance/", "finance/", true),
        // Neither has U+0000, and a name has no wildcard (§4.7.0).
        ("#", "a\u{0}", false), ("+", "\u{0}", false), ("a/+", "a/\u{0}b", false),
        ("#", "a/#", false), ("+", "+", false), ("sport/+", "sport/+", false), ("#", "a+b", false),
        // No normalization: one text in two forms is two names.
        ("caf\u{E9}", "cafe\u{301}", false), ("caf\u{E9}", "caf\u{E9}", true),
        ("A\u{30A}", "\u{212B}", false), ("a/\u{301}b", "a/\u{301}b", true),
        ("a/+", "a/\u{301}b", true), ("a/+", "a/\u{301}b/c", false),
        // U+FEFF is what it is wherever it stands (§1.5.4).
        ("\u{FEFF}a", "a", false), ("\u{FEFF}a", "\u{FEFF}a", true),
    ])
    func semantics(filter: String, topic: String, matches: Bool) throws {
        try expect(filter, topic, matches)
    }

    @Test("is valid or not as the text says", arguments: [
        // §4.7.1.2
        ("#", true), ("sport/tennis/#", true), ("sport/tennis#", false),
        ("sport/tennis/#/ranking", false), ("##", false), ("#/", false), ("/#", true),
        ("a/#b", false),
        // §4.7.1.3
        ("+", true), ("+/tennis/#", true), ("sport+", false), ("sport/+/player1", true),
        ("+sport", false), ("++", false), ("+/+", true), ("/+", true), ("+#", false), ("#+", false),
        // §4.7.3: at least one character, at most 65,535 bytes, no U+0000.
        ("", false), ("/", true), ("//", true), ("a b", true), ("a\u{0}", false), ("\u{0}", false),
        (String(repeating: "a", count: 65_535), true),
        (String(repeating: "a", count: 65_536), false),
        (String(repeating: "é", count: 32_767), true),
        (String(repeating: "é", count: 32_768), false),
        // A wildcard that is part of a longer character stands in its level all the same.
        ("+\u{301}", false), ("a/#\u{301}", false),
    ])
    func validity(filter: String, isValid: Bool) {
        #expect((TopicFilter(filter) != nil) == isValid)
    }

    /// By the filter itself, by the bytes of the wire, and by a table of routes with it.
    private func expect(_ text: String, _ topic: String, _ matches: Bool) throws {
        let filter = try #require(TopicFilter(text))
        #expect(filter.matches(topic) == matches)
        #expect(filter.matches(bytes: topic.utf8.span) == matches)
        let table = RouteTable([Route(
            line: 1, from: filter, app: try #require(AppName("z")),
            className: try #require(ClassName("R")), operation: .create)])
        // What begins with $ enters by no route.
        #expect((table.entry(of: topic) != nil) == (matches && !topic.hasPrefix("$")))
    }
}
