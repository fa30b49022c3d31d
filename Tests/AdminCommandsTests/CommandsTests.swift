@testable import AdminCommands
import Foundation
import Sessions
import Testing
import Wire

@Suite("Table")
struct TableTests {
    @Test("aligns by the columns that a terminal uses")
    func wide() {
        var table = TextTable("NAME", "STATE")
        table.add("greenhouse", "up")
        table.add("温室", "down")
        table.add("e\u{301}te\u{301}", "up")
        #expect(table.lines(width: nil) == [
            "NAME        STATE", "greenhouse  up", "温室        down", "e\u{301}te\u{301}         up",
        ])
    }

    @Test("shows no character that moves the cursor or turns text around")
    func hostile() {
        var table = TextTable("NAME")
        table.add("a\u{1b}[2J\nb\u{202e}c")
        #expect(table.lines(width: nil).last == "a\\u{1b}[2J\\nb\\u{202e}c")
        table.add(" a b  c\u{a0}\u{3000}")
        #expect(table.lines(width: nil).last == "\\u{20}a b \\u{20}c\u{a0}\\u{3000}")
    }

    @Test("gives way in its widest column, down to eight", arguments: [
        (30, ["NAME            WHAT", "a-board-with-…  revoked-abcdef"]),
        (10, ["NAME      WHAT", "a-board…  revoked…"]),
    ])
    func narrow(width: Int, lines: [String]) {
        var table = TextTable("NAME", "WHAT")
        table.add("a-board-with-a-long-name", "revoked-abcdef")
        #expect(table.lines(width: width) == lines)
    }
}

@Suite("Time text")
struct TimeTextTests {
    private let times = TimeText(
        now: Timestamp(milliseconds: 1_700_000_000_000),
        zone: TimeZone(secondsFromGMT: 3600) ?? .current)

    @Test("says how far from now", arguments: [
        (0, "just now"), (-4, "just now"), (-59, "59 s ago"), (-60, "1 min ago"),
        (3540, "in 59 min"), (7199, "in 2 h"), (-172_799, "47 h ago"), (2_592_000, "in 30 d"),
        (2_591_999, "in 30 d"), (-2_591_999, "29 d ago"),
    ] as [(Int64, String)])
    func relative(offset: Int64, text: String) {
        #expect(times.relative(Timestamp(milliseconds: (1_700_000_000 + offset) * 1000)) == text)
    }

    @Test("shows the local clock, and never for none")
    func local() {
        let now = times.now
        #expect(times.show(now) == "2023-11-14 23:13 (just now)")
        #expect(times.clock(now) == "23:13:20")
        #expect(times.show(nil) == "never")
    }
}

@Suite("Span")
struct SpanTests {
    @Test("reads a number and its unit", arguments: [
        ("0s", 0), ("90s", 90), ("10m", 600), ("24h", 86_400), ("30d", 2_592_000),
        ("2w", 1_209_600), ("366d", 31_622_400),
    ] as [(String, Int64)])
    func good(text: String, seconds: Int64) {
        #expect(Span(argument: text)?.seconds == seconds)
    }

    @Test("takes nothing else", arguments: [
        "", "s", "10", "-1s", "+1s", "1.5h", "10y", " 1s", "1 s", "367d", "9223372036854775807w",
        "99999999999999999999s", "１s",
    ])
    func bad(text: String) { #expect(Span(argument: text) == nil) }
}

@Suite("Authority URL")
struct AuthorityURLTests {
    @Test("is one text for each place", arguments: [
        ("https://Authority.Example", "https://authority.example"),
        ("https://authority.example:443/", "https://authority.example"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("HTTPS://authority.example/postern/", "https://authority.example/postern"),
    ])
    func good(text: String, canonical: String) {
        #expect(AuthorityURL(text)?.description == canonical)
    }

    @Test("takes no user, query, fragment or other scheme", arguments: [
        "", "authority.example", "ftp://authority.example", "https://", "https://u@a.example",
        "https://u:p@a.example", "https://a.example?x=1", "https://a.example#c=secret",
        "file:///etc/passwd",
    ])
    func bad(text: String) { #expect(AuthorityURL(text) == nil) }

    @Test("lets secrets go unencrypted only within the machine", arguments: [
        ("http://127.0.0.1", true), ("http://127.8.9.1:1", true), ("http://localhost", true),
        ("http://[::1]:80", true), ("https://a.example", true), ("http://a.example", false),
        ("http://127.0.0.1.example", false), ("http://128.0.0.1", false),
        ("http://localhost.example", false), ("http://127.1", false),
    ])
    func safe(text: String, isSafe: Bool) throws {
        let url = try #require(AuthorityURL(text))
        #expect(url.isSafe(insecure: false) == isSafe)
        #expect(url.isSafe(insecure: true))
    }
}

@Suite("Answers of an authority")
struct AnswerTests {
    @Test("are sorted by who can do what about them", arguments: [
        (200, "{}", nil), (201, "{\"a\":1}", nil),
        (200, "<html>", "HTTP: status 200, and the answer is not an authority's"),
        (502, "Bad Gateway", "HTTP: status 502, and the answer is not an authority's"),
        (302, "{}", "HTTP: status 302"),
        (403, "{\"error\":\"unauthorized\"}",
         "HTTP: the authority has another application id; log in again"),
        (503, "{\"code\":1,\"error\":\"store: full\"}", "authority: store: full"),
        (400, "{\"code\":209,\"error\":\"over\"}",
         "session: over (209); log in with `postern login`"),
        (400, "{\"code\":142,\"error\":\"a\\u001b[1m\"}", "authority: a[1m (142)"),
        (400, "{\"code\":142,\"error\":\"a\\u202eb\"}", "authority: a\\u{202e}b (142)"),
    ] as [(Int, String, String?)])
    func sorted(status: Int, body: String, sentence: String?) {
        var failure: CommandFailure?
        do throws(CommandFailure) {
            _ = try AuthorityClient.read(status: status, Array(body.utf8))
        } catch {
            failure = error
        }
        #expect(failure?.sentence == sentence)
    }

    @Test("say how long to wait where a proxy in front of the authority says it", arguments: [
        (429, "<html>", "20",
         "HTTP: status 429, and the answer is not an authority's; wait 20 s, then try again"),
        (503, "<html>", "Wed, 21 Oct 2026 07:28:00 GMT",
         "HTTP: status 503, and the answer is not an authority's"),
        (503, "{}", "5", "HTTP: status 503; wait 5 s, then try again"),
    ])
    func proxy(status: Int, body: String, retryAfter: String, sentence: String) {
        let failure = #expect(throws: CommandFailure.self) {
            _ = try AuthorityClient.read(
                status: status, Array(body.utf8), retryAfter: retryAfter)
        }
        #expect(failure?.sentence == sentence)
    }

    @Test("may list as many boards as there are")
    func long() throws {
        let body = "{\"results\":[" + String(repeating: "{\"a\":1},", count: 50_000) + "{}]}"
        let answer = try AuthorityClient.read(status: 200, Array(body.utf8))
        #expect(answer.members["results"]?.asArray?.count == 50_001)
    }

    @Test("say that nobody is there where the store is away")
    func storeAway() {
        let body = #"{"code":1,"error":"store: the store is away","name":"store-away"}"#
        let failure = #expect(throws: CommandFailure.self) {
            _ = try AuthorityClient.read(status: 503, Array(body.utf8))
        }
        #expect(failure == .offline(layer: "authority", text: "store: the store is away"))
        #expect(failure?.exitStatus == .offline)
    }
}
