import Foundation
import Logging
import Sessions
import Testing

import LogOutput

@Suite("Log line")
struct LogLineTests {
    private let time = Timestamp(milliseconds: 1_795_317_600_123)
    private let json = LogLineForm.json(program: "postern-agent")

    @Test("is one JSON object with time, level, program, message and fields")
    func object() throws {
        let line = json.line(
            LogEntry(.warning, "a \"quoted\" word", ["board": "b1", "level": "mine"]), at: time)
        #expect(line == #"{"time":"2026-11-22T03:20:00.123Z","level":"warning","#
            + #""program":"postern-agent","message":"a \"quoted\" word","board":"b1","#
            + #""field_level":"mine"}"#)
    }

    @Test("stays one line of JSON whatever a peer wrote", arguments: [
        "a\nb", "a\u{2028}b", "\u{1B}[2J", "\u{0}", "\\", "\"}\n{\"level\":\"info\"", "é\u{85}✓",
    ])
    func hostile(text: String) throws {
        let line = json.line(LogEntry(.info, text, [text: text]), at: time)
        #expect(!line.unicodeScalars.contains { $0.properties.generalCategory == .control })
        let read = try JSONSerialization.jsonObject(with: Data(line.utf8))
        #expect((read as? [String: String])?["level"] == "info")
        let plain = LogLineForm.text.line(LogEntry(.info, text), at: time)
        #expect(plain.hasPrefix("info: "))
        #expect(plain.split(whereSeparator: \.isNewline).count == 1)
    }

    @Test("has level, words and fields as text")
    func text() {
        let entry = LogEntry(.error, "refused", ["count": "2", "board": "b1"])
        #expect(LogLineForm.text.line(entry, at: time) == "error: refused board=b1 count=2")
    }
}
