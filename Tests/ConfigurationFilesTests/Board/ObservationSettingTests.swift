import ConfigurationFiles
import Testing
import Wire

/// Logs, figures and discovery, in both programs' files.
@Suite("Settings of observation")
struct ObservationSettingTests {
    private static let uplink = "\n[uplink]\nuri = \"mqtts://b.example\"\n"

    private func board(_ text: String) throws(SettingsError) -> BoardSettings {
        try BoardSettings.parse(text + Self.uplink, file: "t.toml") { _ in nil }
    }

    private func authority(_ text: String) throws(SettingsError) -> AuthoritySettings {
        try AuthoritySettings.parse(
            text + "\n[http]\npublic_url = \"https://a.example\"\n", file: "t.toml") { _ in nil }
    }

    @Test("are off unless asked for")
    func off() throws {
        let settings = try board("")
        #expect(settings.logFormat == .text)
        #expect(settings.metrics == nil)
        #expect(settings.discovery == nil)
        #expect(try board("[home_assistant]\nprefix = \"ha\"").discovery == nil)
        #expect(try authority("").metrics == nil)
    }

    @Test("give figures out on this machine alone", arguments: [
        ("127.0.0.1:9464", MetricsPlace.port(host: "127.0.0.1", port: 9464)),
        ("localhost:1", .port(host: "localhost", port: 1)),
        ("[::1]:9464", .port(host: "::1", port: 9464)),
        ("unix:/run/postern/m.sock", .socket("/run/postern/m.sock")),
    ])
    func metrics(text: String, place: MetricsPlace) throws {
        #expect(try board("[metrics]\nlisten = \"\(text)\"").metrics == place)
        #expect(try authority("[metrics]\nlisten = \"\(text)\"").metrics == place)
    }

    @Test("refuse figures anywhere else", arguments: [
        "0.0.0.0:9464", "192.168.1.4:9464", "[::]:9464", "board.example:9464", "127.0.0.1",
        "unix:run/m.sock", "unix:", "", "unix:/" + String(repeating: "x", count: 100),
    ])
    func wrongPlace(text: String) {
        #expect(throws: SettingsError.self) { try board("[metrics]\nlisten = \"\(text)\"") }
        #expect(throws: SettingsError.self) { try authority("[metrics]\nlisten = \"\(text)\"") }
    }

    @Test("write logs as text or as JSON, and nothing else")
    func logFormat() throws {
        #expect(try board("log_format = \"json\"").logFormat == .json)
        #expect(try authority("log_format = \"json\"").logFormat == .json)
        #expect(throws: SettingsError.self) { try board("log_format = \"xml\"") }
    }

    @Test("announce sensors, or take them back")
    func discovery() throws {
        let root = try #require(TopicRoot("homeassistant"))
        let other = try #require(TopicRoot("ha"))
        #expect(
            try board("[home_assistant]\ndiscovery = true").discovery == .announced(below: root))
        #expect(
            try board("[home_assistant]\ndiscovery = false").discovery == .withdrawn(below: root))
        #expect(
            try board("[home_assistant]\ndiscovery = true\nprefix = \"ha\"").discovery
                == .announced(below: other))
        #expect(throws: SettingsError.self) {
            try board("[home_assistant]\ndiscovery = true\nprefix = \"a/#\"")
        }
    }

    @Test("are named when a file that is read anew has others")
    func differences() throws {
        let old = try board("")
        #expect(try board("log_format = \"json\"").keysUnlike(old) == ["log_format"])
        #expect(
            try board("[metrics]\nlisten = \"localhost:1\"").keysUnlike(old) == ["metrics.listen"])
        let announced = try board("[home_assistant]\ndiscovery = true")
        #expect(announced.keysUnlike(old) == ["home_assistant.discovery"])
        #expect(
            try board("[home_assistant]\ndiscovery = true\nprefix = \"ha\"").keysUnlike(announced)
                == ["home_assistant.prefix"])
    }
}
