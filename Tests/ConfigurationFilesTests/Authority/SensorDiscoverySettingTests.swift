import ConfigurationFiles
import Testing
import Wire

/// `[home_assistant]` of authority.toml.
@Suite("Settings of announced sensors")
struct SensorDiscoverySettingTests {
    private func parse(_ text: String) throws(SettingsError) -> SensorDiscovery {
        try AuthoritySettings.parse(text, file: "test.toml") { _ in nil }.sensorDiscovery
    }

    @Test("announce nothing unless told to, and then below Home Assistant's own prefix")
    func defaults() throws {
        #expect(try !parse("").isOn)
        let on = try parse("[home_assistant]\ndiscovery = true")
        #expect(on.isOn && on.prefix.description == "homeassistant")
        #expect(try parse("[home_assistant]\nprefix = \"a/b\"").prefix == TopicRoot("a/b"))
    }

    @Test("need the records of the boards")
    func records() throws {
        let error = #expect(throws: SettingsError.self) {
            try parse("[data]\nkeep = \"0\"\n[home_assistant]\ndiscovery = true")
        }
        let words = try #require(error).description
        #expect(words.contains("home_assistant.discovery") && words.contains("[data]"))
        #expect(try !parse("[data]\nkeep = \"0\"\n[home_assistant]\ndiscovery = false").isOn)
    }

    @Test("refuse a prefix that is no topic, or that meets the boards' own topics", arguments: [
        "", "a/#", "+", "/a", "a//b", "postern", "postern/v1", "postern/v1/x",
    ])
    func prefix(text: String) {
        #expect(throws: SettingsError.self) { try parse("[home_assistant]\nprefix = \"\(text)\"") }
    }
}
