import ConfigurationFiles
import Sessions
import Testing

@Suite("Settings of logins elsewhere")
struct LoginSettingTests {
    private static let whole = """
        [login.facebook]
        issuer = "https://www.facebook.com"
        audience = "1234"
        keys = "https://www.facebook.com/.well-known/oauth/openid/jwks/"

        """

    private func parse(
        _ text: String, environment: [String: String] = [:]
    ) throws -> AuthoritySettings {
        try AuthoritySettings.parse(
            text, file: "authority.toml", environment: { environment[$0] })
    }

    @Test("are none without a section")
    func none() throws {
        #expect(try parse("").logins.isEmpty)
    }

    @Test("name the issuer to the letter, one audience or several, and where the keys are")
    func several() throws {
        let settings = try parse(Self.whole + """
            [login.a_b-9]
            issuer = "https://tenant.example/"
            audience = ["phone", "desk"]
            keys = "/etc/postern/keys.json"
            sign_up = true
            """)
        #expect(settings.logins == [
            AuthoritySettings.Login(
                name: try #require(LoginProvider("a_b-9")), issuer: "https://tenant.example/",
                audience: ["phone", "desk"], keys: .file("/etc/postern/keys.json"),
                signUp: true),
            AuthoritySettings.Login(
                name: try #require(LoginProvider("facebook")), issuer: "https://www.facebook.com",
                audience: ["1234"],
                keys: .url("https://www.facebook.com/.well-known/oauth/openid/jwks/"),
                signUp: false),
        ])
    }

    @Test("let people sign up as the users' section says, unless they say it themselves")
    func signUp() throws {
        let open = "[users]\nsign_up = \"open\"\n"
        #expect(try parse(Self.whole).logins.map(\.signUp) == [false])
        #expect(try parse(open + Self.whole).logins.map(\.signUp) == [true])
        #expect(try parse(open + Self.whole + "sign_up = false").logins.map(\.signUp) == [false])
        let settings = try parse(
            Self.whole, environment: ["POSTERN_LOGIN_FACEBOOK_SIGN_UP": "true",
                                      "POSTERN_LOGIN_FACEBOOK_AUDIENCE": "5678"])
        #expect(settings.logins.map(\.signUp) == [true])
        #expect(settings.logins.map(\.audience) == [["5678"]])
    }

    @Test("have a button where a client id is, with what the provider does not say itself")
    func button() throws {
        #expect(try parse(Self.whole).logins.first?.button == nil)
        let plain = try parse(Self.whole + "client_id = \"1234\"").logins.first?.button
        #expect(plain == AuthoritySettings.LoginButton(clientID: "1234", title: "facebook"))
        let full = try parse(Self.whole + """
            client_id = "1234"
            client_secret_file = "/etc/postern/facebook.secret"
            title = "Face Book"
            authorization_endpoint = "https://a.example/in?p=1"
            token_endpoint = "http://127.0.0.1:9/token"
            """).logins.first?.button
        #expect(full == AuthoritySettings.LoginButton(
            clientID: "1234", secretFile: "/etc/postern/facebook.secret", title: "Face Book",
            endpoints: .init(
                authorization: "https://a.example/in?p=1", token: "http://127.0.0.1:9/token")))
    }

    @Test("have no button by halves", arguments: [
        "client_id = \"5678\"", "title = \"F\"", "client_secret_file = \"/s\"",
        "token_endpoint = \"https://a.example\"", "authorization_endpoint = \"https://a.example\"",
        "client_id = \"1234\"\ntoken_endpoint = \"https://a.example\"",
        "client_id = \"1234\"\nauthorization_endpoint = \"https://a.example\"",
        "client_id = \"1234\"\nauthorization_endpoint = \"http://a.example\"\n"
            + "token_endpoint = \"https://a.example\"",
        "client_id = \"1234\"\nclient_secret_file = \"secret\"", "client_id = \"\"",
        "client_secret = \"s\"",
    ])
    func buttonFaults(lines: String) {
        #expect(throws: SettingsError.self) { try parse(Self.whole + lines) }
    }

    @Test("switch passwords off, beside providers and without")
    func passwords() throws {
        #expect(try parse(Self.whole).takesPasswords)
        #expect(try !parse("[login]\npasswords = false").takesPasswords)
        let both = try parse("[login]\npasswords = false\n" + Self.whole)
        #expect(!both.takesPasswords)
        #expect(both.logins.map(\.name.description) == ["facebook"])
        let overridden = try parse(
            Self.whole, environment: ["POSTERN_LOGIN_PASSWORDS": "false"])
        #expect(!overridden.takesPasswords)
        #expect(throws: SettingsError.self) { try parse("[login]\npasswords = 0") }
    }

    @Test("take keys by https, and by http from this machine alone", arguments: [
        ("https://idp.example/keys?p=1", true), ("http://127.0.0.1:8080/keys", true),
        ("http://localhost/keys", true), ("http://[::1]:80/keys", true),
        ("http://idp.example/keys", false), ("http://127.0.0.1.example/keys", false),
        ("http://localhost@idp.example/keys", false), ("https:///keys", false),
        ("https://", false), ("ftp://idp.example/keys", false), ("keys.json", false),
        ("./keys.json", false), ("https://idp.example/keys#a", false),
        ("https://idp.example/ke ys", false), ("http://127.0.0.1:0x50/keys", false), ("", false),
    ])
    func keys(text: String, isGood: Bool) {
        let body = "[login.x]\nissuer = \"https://a\"\naudience = \"b\"\nkeys = \"\(text)\""
        if isGood {
            #expect(throws: Never.self) { try parse(body) }
        } else {
            #expect(throws: SettingsError.self) { try parse(body) }
        }
    }

    @Test("name what is wrong, and where", arguments: [
        ("[login.x]\naudience = \"b\"\nkeys = \"/k\"", "login.x.issuer is missing"),
        ("[login.x]\nissuer = \"https://a\"\nkeys = \"/k\"", "login.x.audience is missing"),
        ("[login.x]\nissuer = \"https://a\"\naudience = \"b\"", "login.x.keys is missing"),
        (whole + "issuers = \"x\"",
         "unknown key \"login.facebook.issuers\"; the nearest known is \"issuer\""),
        (whole + "signup = true",
         "unknown key \"login.facebook.signup\"; the nearest known is \"sign_up\""),
        (whole + "sign_up = \"open\"", "login.facebook.sign_up must be a boolean, not a string"),
        ("[logins.x]\nissuer = \"https://a\"", "unknown key \"logins\"; the nearest known is"),
        ("[login]\nissuer = \"https://a\"", "login.issuer must be a table, not a string"),
        ("login = 1", "login must be a table, not an integer"),
    ])
    func faults(text: String, message: String) {
        #expect {
            try parse(text)
        } throws: { error in
            guard let error = error as? SettingsError else { return false }
            return error.message.hasPrefix(message) && error.line != nil
        }
    }

    @Test("refuse a name that could be taken for another", arguments: [
        "password", "passwords", "anonymous", "passkey", "recovery", "Facebook", "9a", "_a", "-a",
        "\"a.b\"", "\"\"",
        "a23456789012345678901234567890123",
    ])
    func names(name: String) {
        #expect(throws: SettingsError.self) {
            try parse(Self.whole.replacing("facebook]", with: "\(name)]"))
        }
    }

    @Test("refuse an issuer or an audience that no token could say", arguments: [
        "issuer = \"http://a\"", "issuer = \"https://\"", "issuer = \"https://a?b\"",
        "issuer = \"https://a#b\"", "issuer = \"https://a b\"", "issuer = \"a\"",
        "audience = \"\"", "audience = []", "audience = [\"a\", \"a\"]", "audience = [1]",
        "audience = 1", "audience = [\"\"]",
    ])
    func values(line: String) {
        let key = line.prefix { $0 != " " }
        let lines = Self.whole.split(separator: "\n").map {
            $0.hasPrefix(key) ? Substring(line) : $0
        }
        #expect(throws: SettingsError.self) { try parse(lines.joined(separator: "\n")) }
    }
}
