@testable import AdminCommands
import Foundation
import Sessions
import Testing
import Wire

@Suite("A consumer's end")
struct ConsumerEndTests {
    @Test("is a span or a time", arguments: [
        ("30d", "durationSeconds", 2_592_000), ("1s", "durationSeconds", 1),
        ("2026-12-31", "until", 1_798_671_600), ("2026-12-31 18:00", "until", 1_798_736_400),
        ("2026-12-31T18:00:30", "until", 1_798_736_430),
        ("2026-12-31T18:00:30Z", "until", 1_798_740_030),
    ])
    func read(text: String, name: String, value: Int64) throws {
        let zone = try #require(TimeZone(secondsFromGMT: 3600))
        let end = try #require(ConsumerEnd(argument: text))
        let member = try end.member(in: zone)
        #expect(member.name == name && member.value == .integer(value))
    }

    @Test("is no other text", arguments: [
        "", "0s", "-1d", "soon", "2026", "2026-1-1", "2026-12-31Z", "2026-12-31 18",
        "2026-12-31 18:0", "2026-12-31 18:00 x", "26-12-31", "2026/12/31", "２０２６-12-31",
        "2026-12-31  18:00", "+026-12-31",
    ])
    func wrong(text: String) { #expect(ConsumerEnd(argument: text) == nil) }

    @Test("is no time that the calendar lacks", arguments: [
        "2026-02-30", "2026-13-01", "2026-00-10", "2026-01-01 24:30", "2026-01-01 10:61",
    ])
    func missing(text: String) throws {
        let end = try #require(ConsumerEnd(argument: text))
        #expect((try? end.member(in: .gmt))?.name == nil)
    }
}

@Suite("A consumer's lines")
struct ConsumerLinesTests {
    private func made(
        _ uri: String, ca: String? = nil, topics: [String] = ["postern/v1/b/data/#"],
        password: String = "p-1"
    ) throws -> MadeConsumer {
        var members: [String: JSONValue] = [
            "name": .string("hall"), "uri": .string(uri), "clientId": .string("postern-c"),
            "username": .string("c"), "password": .string(password),
            "topics": .array((topics + ["postern/v1/b/status"]).map(JSONValue.string)),
        ]
        members["ca"] = ca.map(JSONValue.string)
        return try MadeConsumer(json: JSONObject(members))
    }

    private func lines(_ made: MadeConsumer) -> [String] {
        let times = TimeText(now: Timestamp(milliseconds: 0), zone: .gmt)
        return ConsumerLines(made, board: "b", className: nil).all(times)
    }

    @Test("have the password in files alone, never in a command")
    func password() throws {
        let all = lines(try made("mqtts://h.example", ca: "-----BEGIN\nx\n-----END\n"))
        let shown = all.filter { $0.contains("p-1") }
        #expect(shown.count == 4)
        #expect(shown.allSatisfy { !$0.contains("mosquitto_sub ") && !$0.hasPrefix("#") })
        for line in [
            "-h h.example", "-p 8883", "--cafile postern-ca.pem", "-t postern/v1/b/data/#",
            "  servers = [\"ssl://h.example:8883\"]", "  topics = [\"postern/v1/b/data/#\"]",
            "      state_topic: \"postern/v1/b/data/Reading/create\"",
            "      availability_topic: \"postern/v1/b/status\"",
        ] {
            #expect(all.contains(line), "\(line)")
        }
    }

    @Test("name no CA without TLS, and the system's with a public one")
    func trust() throws {
        let plain = lines(try made("mqtt://127.0.0.1:18"))
        #expect(!plain.contains { $0.contains(".pem") || $0.hasPrefix("--ca") })
        let open = lines(try made("mqtts://[::1]:9"))
        #expect(open.contains("--capath /etc/ssl/certs"))
        #expect(open.contains("  servers = [\"ssl://[::1]:9\"]"))
    }

    @Test("need no line for each value if the sensors are announced", arguments: [
        ["homeassistant/sensor/+/+/config"], ["ha/x/sensor/b/+/config", "ha/x/sensor/c/+/config"],
    ])
    func announced(topics: [String]) throws {
        let all = lines(try made("mqtt://h", topics: ["postern/v1/b/data/#"] + topics))
        let prefix = topics[0].hasPrefix("ha/x/") ? "ha/x" : "homeassistant"
        #expect(all.contains("#   discovery on, discovery prefix \(prefix)"))
        #expect(!all.contains { $0.contains("state_topic") })
        #expect(all.contains { $0.hasSuffix(topics[0]) })
        // No other program is to read the announcements.
        for start in ["-t ", "[{", "  topics = "] {
            #expect(all.contains { $0.hasPrefix(start) })
            #expect(!all.contains { $0.hasPrefix(start) && $0.contains("/config") })
        }
    }

    @Test("take no text that would be a line of its own", arguments: ["a\n-t #", "a\u{1b}[2J"])
    func hostile(text: String) throws {
        #expect((try? made("mqtt://h", topics: [text]))?.login.uri == nil)
        #expect((try? made("mqtt://h", password: text))?.login.uri == nil)
    }

    @Test("are JSON with the agreed members, and others only if they have a value")
    func json() throws {
        let plain = try made("mqtt://h").json.asObject
        #expect(plain?.keys.sorted() == ["clientId", "password", "topics", "uri", "username"])
        let trusted = try made("mqtt://h", ca: "x").json.asObject
        #expect(trusted?["ca"] == .string("x"))
    }
}
