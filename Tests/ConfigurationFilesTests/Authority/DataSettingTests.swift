import ConfigurationFiles
import Gate
import Testing

/// `[data]` of authority.toml.
@Suite("Settings of kept data")
struct DataSettingTests {
    private func parse(
        _ text: String, _ variables: [String: String] = [:]
    ) throws(SettingsError) -> KeptData {
        try AuthoritySettings.parse(text, file: "test.toml") { variables[$0] }.data
    }

    @Test("keep thirty days and a gibibyte unless told otherwise")
    func defaults() throws {
        let data = try parse("")
        #expect(data.keep == .seconds(30 * 86_400))
        #expect(data.maxBytes == ByteCount(bytes: 1 << 30))
    }

    @Test("keep nothing with a zero, whatever its unit", arguments: ["0", "0s", "0d"])
    func nothing(text: String) throws {
        #expect(try parse("[data]\nkeep = \"\(text)\"").keep == .zero)
    }

    @Test("may come from the environment")
    func environment() throws {
        let data = try parse("[data]\nkeep = \"1d\"", [
            "POSTERN_DATA_KEEP": "36500d", "POSTERN_DATA_MAX_BYTES": "16 MiB",
        ])
        #expect(data.keep == .seconds(36_500 * 86_400))
        #expect(data.maxBytes == ByteCount(bytes: 16 << 20))
    }

    @Test("refuse what would keep less than a minute, or has no room", arguments: [
        "keep = \"59s\"", "keep = \"30\"", "keep = \"-1d\"", "keep = 0", "keep = \"\"",
        "max_bytes = 0", "max_bytes = \"15 MiB\"", "max_bytes = \"1 PB\"", "max_age = \"1d\"",
    ])
    func wrong(line: String) {
        #expect(throws: SettingsError.self) { try parse("[data]\n" + line) }
    }
}
