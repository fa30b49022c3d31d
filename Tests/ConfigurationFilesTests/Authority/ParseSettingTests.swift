import ConfigurationFiles
import Sessions
import Testing

@Suite("Settings of Parse's API")
struct ParseSettingTests {
    private func parse(
        _ text: String, _ variables: [String: String] = [:]
    ) throws(SettingsError) -> AuthoritySettings {
        try AuthoritySettings.parse(text, file: "test.toml") { variables[$0] }
    }

    @Test("have Parse's own defaults")
    func defaults() throws {
        let settings = try parse("")
        #expect(settings.http.parse == ParseHTTP())
        #expect(settings.http.parse.mount == "/parse")
        #expect(settings.http.parse.masterKeyFrom == .loopback)
        #expect(settings.sessionPermissions == ClassPermissions())
    }

    @Test("switch each action of the class", arguments: ClassPermissions.Action.allCases)
    func permissions(action: ClassPermissions.Action) throws {
        let usual = ClassPermissions().allows(action)
        let name = action.rawValue
        let text = "[session.permissions]\n\(name) = \(!usual)"
        #expect(try parse(text).sessionPermissions.allows(action) == !usual)
        let variable = "POSTERN_SESSION_PERMISSIONS_\(name.uppercased())"
        #expect(try parse("", [variable: "\(!usual)"]).sessionPermissions.allows(action) == !usual)
        for other in ClassPermissions.Action.allCases where other != action {
            #expect(try parse(text).sessionPermissions.allows(other)
                == ClassPermissions().allows(other))
        }
    }

    @Test("take mounts that the console leaves free", arguments: [
        ("/parse", true), ("/1", true), ("/api/v1/parse", true), ("/", false), ("", false),
        ("parse", false), ("/parse/", false), ("//parse", false), ("/postern", false),
        ("/postern/v1", false), ("/console", false), ("/claim", false), ("/a/b/c/d/e", false),
        ("/:id", false), ("/a b", false), ("/%70arse", false), ("/..", false),
    ])
    func mount(text: String, isTaken: Bool) {
        let settings = try? parse("[http]\nmount = \"\(text)\"")
        #expect(settings?.http.parse.mount == (isTaken ? text : nil))
    }

    @Test("take other origins as browsers write them", arguments: [
        ("https://app.example", true), ("http://localhost:3000", true), ("https://a.b:8443", true),
        ("https://[::1]:8443", true), ("http://[2001:db8::1]", true), ("*", false), ("", false),
        ("null", false), ("https://", false), ("https://app.example/", false),
        ("https://app.example/x", false), ("https://App.example", false),
        ("https://app.example:443", false), ("http://app.example:80", false),
        ("https://app.example:", false), ("https://app.example:0", false),
        ("https://app.example:070", false), ("https://app.example:+8", false),
        ("https://app.example:65536", false), ("https://*.example", false),
        ("https://me@app.example", false), ("app.example", false), ("https://[::1", false),
        ("https://[]", false), ("file:///x", false), ("https://a b", false),
    ])
    func origins(text: String, isTaken: Bool) {
        let settings = try? parse("[http]\norigins = [\"https://first.example\", \"\(text)\"]")
        #expect(settings?.http.parse.origins == (isTaken ? ["https://first.example", text] : nil))
    }

    @Test("know where keys are", arguments: [
        ("rest_api_key = \"k\"", true), ("rest_api_key_file = \"/k\"", true),
        ("rest_api_key = \"k\"\nrest_api_key_file = \"/k\"", false),
        ("rest_api_key = \"a b\"", false), ("rest_api_key = \"\"", false),
        ("master_key_file = \"/m\"", true), ("master_key_file = \"m\"", false),
        ("master_key = \"m\"", false), ("master_key_from = \"anywhere\"", false),
        ("master_key_file = \"/m\"\nmaster_key_from = \"anywhere\"", true),
        ("master_key_file = \"/m\"\nmaster_key_from = \"lan\"", false),
    ])
    func keys(text: String, isTaken: Bool) {
        let settings = try? parse("[http]\n" + text)
        #expect((settings != nil) == isTaken)
    }

    @Test("refuse a switch that is none", arguments: [
        "finds = true", "find = \"yes\"", "find = 1", "add_field = true",
    ])
    func badSwitch(text: String) {
        #expect(throws: SettingsError.self) { try parse("[session.permissions]\n" + text) }
    }
}
