import ConfigurationFiles
import Testing

@Suite("Duration text")
struct DurationTextTests {
    @Test("reads a number and a unit", arguments: [
        ("500ms", Duration.milliseconds(500)), ("90s", .seconds(90)), ("10m", .seconds(600)),
        ("6min", .seconds(360)), ("24h", .seconds(86_400)), ("30d", .seconds(2_592_000)),
        ("0s", .zero), ("36500d", .seconds(3_153_600_000)),
    ])
    func reads(text: String, expected: Duration) throws {
        #expect(try DurationText.parse(text) == expected)
        #expect(try DurationText.parse(DurationText.print(expected)) == expected)
    }

    @Test("refuses everything else", arguments: [
        "", "s", "90", "90 s", " 90s", "90s ", "-1s", "+1s", "1.5h", "1y", "1w", "1h30m", "1S",
        "36501d", "99999999999999999999s", "9223372036854775807d", "\u{0661}s", "1s\u{0}",
    ])
    func refuses(text: String) {
        #expect(throws: DurationText.Invalid.self) { try DurationText.parse(text) }
    }
}

@Suite("Settings error")
struct SettingsErrorTests {
    @Test("prints what is known of the place", arguments: [
        (Int?.none, Int?.none, "a.toml: wrong"), (3, nil, "a.toml:3: wrong"),
        (3, 7, "a.toml:3:7: wrong"),
    ])
    func prints(line: Int?, column: Int?, expected: String) {
        let error = SettingsError(file: "a.toml", line: line, column: column, message: "wrong")
        #expect(error.description == expected)
    }
}
