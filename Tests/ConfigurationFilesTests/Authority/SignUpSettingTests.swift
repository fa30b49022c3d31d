import ConfigurationFiles
import Sessions
import Testing

@Suite("Authority's settings for whole lives")
struct SignUpSettingTests {
    private func parse(_ text: String) throws -> AuthoritySettings {
        try AuthoritySettings.parse(text, file: "authority.toml", environment: { _ in nil })
    }

    @Test("let sessions live for ever if they say so")
    func never() throws {
        let settings = try parse("[session]\nabsolute = \"never\"\nidle = \"never\"")
        #expect(settings.lifetimes == LifetimePolicy(
            access: .seconds(3600), absolute: nil, idle: nil))
        #expect(settings.offline == .seconds(365 * 86_400))
        let long = try parse("[session]\nabsolute = \"never\"\noffline = \"400d\"")
        #expect(long.offline == .seconds(400 * 86_400))
    }

    @Test("let nobody sign up unless they say so", arguments: [
        ("", .closed), ("[users]\nsign_up = \"closed\"", .closed),
        ("[users]\nsign_up = \"open\"", .open),
    ] as [(String, AuthoritySettings.SignUpPolicy)])
    func signUp(text: String, policy: AuthoritySettings.SignUpPolicy) throws {
        #expect(try parse(text).signUp == policy)
    }

    @Test("name what a key may be", arguments: [
        "[users]\nsign_up = true", "[users]\nsign_up = \"yes\"", "[users]\nsignup = \"open\"",
        "[session]\nabsolute = \"ever\"",
    ])
    func faults(text: String) {
        #expect(throws: SettingsError.self) { try parse(text) }
    }
}
