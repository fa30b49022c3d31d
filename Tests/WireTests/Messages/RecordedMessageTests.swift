import Testing

@testable import Wire

@Suite("Recorded message")
struct RecordedMessageTests {
    private static let limit = 262_145

    private func read(_ line: String, isCut: Bool = false, most: Int = limit) throws
        -> RecordedMessage
    {
        try RecordedMessage(Array(line.utf8), isCut: isCut, most: most)
    }

    /// A line of mosquitto_sub 2.0.11.
    private func line(_ payload: String, length: Int, retain: Int = 0) -> String {
        #"{"tst":"2026-11-21T17:05:16.289090Z+0000","topic":"postern/app/a/create/A","qos":1,"#
            + #""retain":\#(retain),"payloadlen":\#(length),"mid":2,"payload":\#(payload)}"#
    }

    @Test("is read from what mosquitto_sub -F %j writes")
    func quoted() throws {
        let message = try read(line(#""{\"celsius\":21.50}""#, length: 17))
        #expect(message.topic == "postern/app/a/create/A")
        #expect(message.time == .milliseconds(1_795_280_716_289) + .microseconds(90))
        #expect(!message.isRetained && !message.isRewritten)
        #expect(message.payload == Array(#"{"celsius":21.50}"#.utf8))
        #expect(try read(line("\"x\"", length: 1, retain: 1)).isRetained)
        #expect(try read(line("null", length: 0)).payload.isEmpty)
    }

    @Test("keeps escapes, raw bytes and the properties of MQTT 5 apart")
    func bytes() throws {
        let message = try read(
            #"{"tst":"2026-11-21T17:05:16.292157Z+0000","topic":"t/\"\\","qos":1,"retain":0,"#
                + #""payloadlen":13,"mid":3,"properties":{"user-properties":{"a":"}\"]"},"x":[1]},"#
                + #""payload":"\"\\\/\b\f\n\r\t\u0001\ud83d\ude00"}"#)
        #expect(message.topic == #"t/"\"#)
        #expect(message.payload == Array("\"\\/\u{8}\u{C}\n\r\t\u{1}\u{1F600}".utf8))
        let raw = Array(line("\"", length: 3).utf8.dropLast()) + [0xFF, 0xC3, 0x28]
            + Array("\"}".utf8)
        let binary = try RecordedMessage(raw, most: Self.limit)
        #expect(binary.payload == [0xFF, 0xC3, 0x28])
    }

    @Test("is as long as it was, where the recorder stopped at a NUL")
    func cutAtNUL() throws {
        let message = try read(line("\"a\"", length: 8))
        #expect(message.payload == [0x61] + [UInt8](repeating: 0, count: 7))
    }

    @Test("of %J keeps the payload's own text, and is known to be rewritten")
    func rewritten() throws {
        let payload = #"{"celsius":21.5,"a":"\n}","celsius":[1,{"b":2}]}"#
        let message = try read(line(payload, length: payload.utf8.count + 2))
        #expect(message.isRewritten)
        #expect(message.payload == Array((payload + "  ").utf8))
        #expect(try read(line("7", length: 1)).payload == Array("7".utf8))
        #expect(try read(line("null", length: 4)).payload == Array("null".utf8))
        #expect(try read(line("null", length: 4)).isRewritten)
    }

    @Test("too long to be kept is known by its length", arguments: [
        (#""aaaaaaaa"#, 100, "aaaaaaaa\u{0}\u{0}"), (#""aaaaaaaaaaaa"#, 100, "aaaaaaaaaa"),
        (#"{"a":[1,2,"#, 100, #"{"a":[1,2,"#), (#""aaaaaaa\u00"#, 100, "aaaaaaa\u{0}\u{0}\u{0}"),
    ])
    func cutLine(payload: String, length: Int, expected: String) throws {
        let whole = line(payload, length: length)
        let message = try read(String(whole.dropLast()), isCut: true, most: 10)
        #expect(message.payload == Array(expected.utf8))
        #expect(throws: RecordedMessage.Fault.self) { try read(String(whole.dropLast()), most: 10) }
    }

    @Test("has a time in any zone", arguments: [
        ("2026-11-21T17:05:15.733904Z+0000", "0"), ("2026-11-21T22:35:15.733904Z+0530", "0"),
        ("2026-11-21T22:35:15.733904+05:30", "0"), ("2026-11-21T09:05:15.733904-0800", "0"),
        ("2026-11-21T17:05:15.733904Z", "0"), ("2026-11-21T17:05:15.733904", "0"),
        ("2026-11-21T17:05:15.733Z", "none"), ("2026-11-31T17:05:15.733904Z", "none"),
        ("2026-11-21T17:05:15.733904Z+05", "none"), ("2026-11-21T17:05:15.733904Zx", "none"),
        ("1763744715", "none"), ("", "none"),
    ])
    func time(text: String, expected: String) throws {
        let reference = try #require(RecordedMessage.time("2026-11-21T17:05:15.733904Z+0000"))
        let found = RecordedMessage.time(text).map { "\(($0 - reference).components.seconds)" }
        #expect(found ?? "none" == expected)
    }

    @Test("is refused where the line is none", arguments: [
        "", "x", "[]", "{", "{}", "{\"topic\":1}", "{\"topic\":\"a\"}", "null", "\u{0}",
        #"{"tst":"2026-11-21T17:05:15.733904Z+0000","topic":"a"}"#,
        #"{"tst":"yesterday","topic":"a","payload":"x"}"#,
        #"{"tst":"2026-11-21T17:05:15.733904Z+0000","topic":"a","payload":"x"} x"#,
        #"{"tst":"2026-11-21T17:05:15.733904Z+0000","topic":"a","payload":"x","#,
        #"{"tst":"2026-11-21T17:05:15.733904Z+0000","topic":"a","payloadlen":-1,"payload":"x"}"#,
        #"{"tst":"2026-11-21T17:05:15.733904Z+0000","topic":"a","payloadlen":0,"payload":"x"}"#,
        #"{"tst":"2026-11-21T17:05:15.733904Z+0000","topic":"a","payload":"\ud800"}"#,
        #"{"tst":"2026-11-21T17:05:15.733904Z+0000","topic":"a","payload":"\x"}"#,
        #"{"tst":"2026-11-21T17:05:15.733904Z+0000","topic":"a","payload":[1}"#,
    ])
    func malformed(line: String) {
        #expect(throws: RecordedMessage.Fault.self) { try read(line) }
        #expect(throws: RecordedMessage.Fault.self) { try read(line, isCut: true) }
    }

    @Test("of any beginning of a line is refused or read, and traps on none")
    func beginnings() {
        let whole = Array(line(#""{\"a\":\"\u0001\ud83d\ude00\"}""#, length: 14).utf8)
        for end in whole.indices {
            #expect((try? RecordedMessage(Array(whole[..<end]), most: 9)) == nil)
            _ = try? RecordedMessage(Array(whole[..<end]), isCut: true, most: 9)
        }
    }
}
