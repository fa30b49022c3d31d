@testable import AdminCommands
import Foundation
import Sessions
import Testing
import Wire

@Suite("Data line")
struct DataLineTests {
    private let times = TimeText(
        now: Timestamp(milliseconds: 1_700_000_000_000),
        zone: TimeZone(secondsFromGMT: 0) ?? .current)
    private static let board = "3f1f7c0e-2b7a-4d4e-9c55-0123456789ab"

    private func line(
        _ payload: [UInt8], levels: String = "data/Reading/create",
        properties: [String: String] = [:]
    ) -> DataLine? {
        DataMessage(
            topic: "postern/v1/\(Self.board)/\(levels)", payload: payload, under: .standard,
            property: { properties[$0] }
        ).map { DataLine($0, at: times.now) }
    }

    @Test("names time, board, app, class, session and number")
    func text() {
        let line = line(Array("{}".utf8), properties: [
            "app": "thermo", "sid": "sEsS000002", "seq": "12", "ts": "1700000001000",
        ])
        #expect(line?.text(times)
            == "22:13:21  3f1f7c0e  thermo  Reading create  sid=sEsS000002  seq=12  {}")
    }

    @Test("shows the levels that a route put behind", arguments: [
        ("data/Reading/create/raw/lamp", "Reading create /raw/lamp  sid", "raw/lamp"),
        ("data/Reading/update/a1/lamp", "Reading/a1 update /lamp  sid", "lamp"),
        ("data/Reading/create/\u{1b}c", "Reading create /\\u{1b}c  sid", "\u{1b}c"),
    ])
    func further(levels: String, shown: String, further: String) throws {
        let line = try #require(self.line([], levels: levels))
        #expect(line.text(times).contains(shown), "\(line.text(times))")
        #expect(line.json.asObject?["further"] == .string(further))
        #expect(line.json.asObject?["class"] == .string("Reading"))
    }

    @Test("shows what is hostile, long or not text without harm", arguments: [
        (Array("\u{1b}]0;x\u{7}\n".utf8), "\\u{1b}]0;x\\u{7}\\n"),
        ([0xFF, 0xFE], "(2 bytes that are not text)"),
        ([UInt8](repeating: 0x61, count: 5000),
         String(repeating: "a", count: 200) + "… (5000 bytes)"),
    ])
    func payloads(payload: [UInt8], shown: String) {
        #expect(line(payload)?.text(times).hasSuffix("seq=-  " + shown) == true)
    }

    @Test("cuts a long payload in JSON, and says so")
    func json() throws {
        let value = try #require(line([UInt8](repeating: 0xFF, count: 5000))?.json.asObject)
        #expect(value["truncated"] == .bool(true))
        #expect(value["payloadBytes"] == .integer(5000))
        #expect(value["payload"] == nil)
        #expect(value["payloadBase64"]?.asString?.utf8.count == (4096 * 4 + 2) / 3)
    }

    @Test("is made of data topics alone", arguments: [
        "status", "outbox", "data", "data/Reading", "data/Reading/read/x",
        "data/Reading/create/", "data/Reading/update//x",
    ])
    func others(levels: String) { #expect(line([], levels: levels) == nil) }

    @Test("takes properties for what they are: anyone's text")
    func properties() {
        let line = line([], properties: ["seq": "many", "ts": "-5", "sid": "a\nb"])
        #expect(line?.text(times).contains("sid=a\\nb  seq=-") == true)
    }
}
