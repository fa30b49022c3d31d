import ConfigurationFiles
import Sessions
import Testing
import Wire

@Suite("Authority settings")
struct AuthoritySettingsTests {
    private func parse(
        _ text: String, _ variables: [String: String] = [:]
    ) throws(SettingsError) -> AuthoritySettings {
        try AuthoritySettings.parse(text, file: "test.toml") { variables[$0] }
    }

    @Test("read the design's sample")
    func sample() throws {
        let settings = try parse(Samples.authority)
        #expect(settings.name == "Home")
        #expect(settings.stateDir == "/var/lib/postern-authority")
        #expect(settings.http.listenHost == "127.0.0.1")
        #expect(settings.http.listenPort == 8080)
        #expect(settings.http.publicURL == "https://authority.example")
        #expect(settings.http.appID == "postern")
        #expect(settings.broker.mode == .embedded)
        #expect(settings.broker.listenHost == "127.0.0.1")
        #expect(settings.broker.listenPort == 1883)
        #expect(settings.broker.access == .dynamicSecurity)
        #expect(settings.broker.uri == nil)
        #expect(settings.lifetimes == .device)
        #expect(settings.heartbeat == .seconds(180))
        #expect(settings.offline == .seconds(365 * 86_400))
        #expect(settings.claimLifetime == .seconds(86_400))
    }

    @Test("have a default for everything")
    func defaults() throws {
        var expected = try parse(Samples.authority)
        expected.name = "Postern"
        expected.http.publicURL = "http://127.0.0.1:8080"
        #expect(try parse("") == expected)
    }

    @Test("take a preset, and single values over it", arguments: [
        ("preset = \"high-security\"", LifetimePolicy.highSecurity, Duration.seconds(86_400)),
        ("preset = \"long-lived\"", .longLived, .seconds(7 * 86_400)),
        ("preset = \"device\"", .device, .seconds(365 * 86_400)),
        ("absolute = \"90d\"",
            LifetimePolicy(
                access: .seconds(3600), absolute: .seconds(90 * 86_400),
                idle: .seconds(365 * 86_400)),
            .seconds(90 * 86_400)),
        ("preset = \"consumer\"\naccess = \"10min\"\nidle = \"never\"",
            LifetimePolicy(access: .seconds(600), absolute: .seconds(30 * 86_400), idle: nil),
            .seconds(7 * 86_400)),
        ("absolute = \"2d\"\nidle = \"1d\"\noffline = \"1d\"",
            LifetimePolicy(
                access: .seconds(3600), absolute: .seconds(2 * 86_400), idle: .seconds(86_400)),
            .seconds(86_400)),
    ])
    func lifetimes(text: String, expected: LifetimePolicy, offline: Duration) throws {
        let settings = try parse("[session]\n" + text)
        #expect(settings.lifetimes == expected)
        #expect(settings.offline == offline)
    }

    @Test("spread by the fleet's size, or by what is set", arguments: [
        ("", nil), ("[session]\nspread = \"0s\"", 0), ("[session]\nspread = \"45s\"", 45),
        ("[session]\nspread = \"1h\"", 3600),
    ] as [(String, Int?)])
    func spread(text: String, seconds: Int?) throws {
        #expect(try parse(text).spread == seconds.map { .seconds($0) })
        #expect(try parse(text, ["POSTERN_SESSION_SPREAD": "9s"]).spread == .seconds(9))
    }

    @Test("know an external broker")
    func external() throws {
        let broker = try parse("""
            [broker]
            mode = "external"
            uri = "mqtts://broker.example"
            username = "authority"
            password_file = "/etc/postern/password"
            ca_file = "/etc/postern/ca.pem"
            access = "none"
            advertise = "mqtts://public.example:8884"
            """).broker
        #expect(broker.mode == .external)
        #expect(broker.uri == (try BrokerURI("mqtts://broker.example:8883")))
        #expect(broker.username == "authority")
        #expect(broker.passwordFile == "/etc/postern/password")
        #expect(broker.caFile == "/etc/postern/ca.pem")
        #expect(broker.access == .none)
        #expect(broker.advertise == "mqtts://public.example:8884")
    }

    @Test("know a broker that asks over HTTP")
    func asking() throws {
        let broker = try parse("""
            [broker]
            mode = "external"
            uri = "mqtts://broker.example"
            access = "http"
            access_secret_file = "/etc/postern/access.secret"
            username = "authority"
            password_file = "/etc/postern/password"
            vhost = "postern"
            """).broker
        #expect(broker.access == .http)
        #expect(broker.accessSecretFile == "/etc/postern/access.secret")
        #expect(broker.virtualHost == "postern")
        #expect(try parse("").broker.virtualHost == "/")
    }

    @Test("let an embedded broker speak in clear at home, elsewhere when told so", arguments: [
        "listen = \"127.0.0.2:1\"", "listen = \"[::1]:1\"", "listen = \"localhost:1\"",
        "listen = \"0.0.0.0:1\"\ninsecure = true",
    ])
    func listening(text: String) throws {
        #expect(try parse("[broker]\n" + text).broker.listenPort == 1)
    }

    @Test("let page and broker go off loopback over TLS, in clear only when told", arguments: [
        "[tls]\nown = true\nhosts = [\"a.example\"]",
        "[http]\ncertificate_file = \"/c\"\nkey_file = \"/k\"\n"
            + "[broker]\ncertificate_file = \"/c\"\nkey_file = \"/k\"",
        "[http]\ninsecure = true\n[broker]\ninsecure = true",
    ])
    func encrypted(text: String) throws {
        let settings = try parse(text, [
            "POSTERN_HTTP_LISTEN": "0.0.0.0:8443", "POSTERN_BROKER_LISTEN": "0.0.0.0:8883",
        ])
        let scheme = settings.tls == nil && settings.http.identity == nil ? "http" : "https"
        #expect(settings.http.publicURL == "\(scheme)://0.0.0.0:8443")
    }

    @Test("are overridden by the environment")
    func environment() throws {
        let settings = try parse(Samples.authority, [
            "POSTERN_HTTP_LISTEN": "[::1]:9000", "POSTERN_BROKER_LISTEN": "localhost:1999",
            "POSTERN_HTTP_PUBLIC_URL": "https://a.example/p/", "POSTERN_SESSION_IDLE": "never",
        ])
        #expect(settings.http.listenHost == "::1")
        #expect(settings.http.listenPort == 9000)
        #expect(settings.http.publicURL == "https://a.example/p")
        #expect(settings.broker.listenHost == "localhost")
        #expect(settings.broker.listenPort == 1999)
        #expect(settings.lifetimes.idle == nil)
    }

    static let faults: [Fault] = [
        Fault("[sesion]", line: 1, column: 2, "\"sesion\"; the nearest known is \"session\""),
        Fault("[http]\nlisten = \"8080\"", line: 2, column: 10,
            "must be an address with its port"),
        Fault("[http]\nlisten = \"127.0.0.1\"", line: 2, column: 10,
            "must be an address with its port"),
        Fault("[http]\nlisten = \"127.0.0.1:0\"", line: 2, column: 10,
            "must be an address with its port"),
        Fault("[http]\nlisten = \":8080\"", line: 2, column: 10,
            "must be an address with its port"),
        Fault("[http]\nlisten = \"::1:8080\"", line: 2, column: 10,
            "must be an address with its port"),
        Fault("[http]\nlisten = \"a:65536\"", line: 2, column: 10,
            "must be an address with its port"),
        Fault("[http]\npublic_url = \"authority.example\"", line: 2, column: 14,
            "begins with https://"),
        Fault("[http]\npublic_url = \"https://\"", line: 2, column: 14, "begins with https://"),
        Fault("[http]\npublic_url = \"https://u@a\"", line: 2, column: 14, "begins with https://"),
        Fault("[http]\napp_id = \"a b\"", line: 2, column: 10, "visible ASCII"),
        Fault("[http]\nport = 1", line: 2, column: 1, "unknown key \"http.port\""),
        Fault("[broker]\nmode = \"internal\"", line: 2, column: 8,
            "not one of \"embedded\", \"external\""),
        Fault("[broker]\naccess = \"acl\"", line: 2, column: 10,
            "not one of \"dynamic-security\", \"http\", \"none\""),
        Fault("[broker]\nmode = \"external\"", line: 1, column: 1, "needs it"),
        Fault("[broker]\nlisten = \"0.0.0.0:1883\"", line: 2, column: 10, "insecure = true"),
        Fault("[http]\nlisten = \"0.0.0.0:8080\"", line: 2, column: 10, "insecure = true"),
        Fault("[http]\nclient_ca_file = \"/a\"", line: 2, column: 18, "needs TLS"),
        Fault("[broker]\nclient_ca_file = \"/a\"", line: 2, column: 18, "needs TLS"),
        Fault("[broker]\nlisten = \"[::]:1883\"", line: 2, column: 10, "insecure = true"),
        Fault("[broker]\nlisten = \"127.0.0.1.example:1883\"", line: 2, column: 10,
            "insecure = true"),
        Fault("[broker]\nuri = \"mqtts://b\"", line: 2, column: 7, "only for mode = \"external\""),
        Fault("[broker]\nusername = \"b\"", line: 2, column: 12, "only for mode = \"external\""),
        Fault("[broker]\nmode = \"external\"\nuri = \"mqtt://b\"", line: 3, column: 7,
            "insecure = true"),
        Fault("[broker]\nmode = \"external\"\nuri = \"mqtts://b\"\nlisten = \"a:1\"",
            line: 4, column: 10, 
            "only for mode = \"embedded\""),
        Fault("[broker]\nmode = \"external\"\nuri = \"mqtts://b\"\npassword_file = \"/p\"",
            line: 4, column: 17, 
            "needs a username"),
        Fault("[broker]\naccess = \"http\"", line: 2, column: 10, "needs mode = \"external\""),
        Fault("[broker]\naccess_secret_file = \"/s\"", line: 2, column: 22,
            "only for access = \"http\""),
        Fault("[broker]\nvhost = \"v\"", line: 2, column: 9, "only for access = \"http\""),
        Fault("[broker]\nmode = \"external\"\nuri = \"mqtts://b\"\naccess = \"http\"",
            line: 1, column: 1, "a request is from the broker"),
        Fault("[broker]\nmode = \"external\"\nuri = \"mqtts://b\"\naccess = \"http\"\n"
            + "access_secret_file = \"/s\"",
            line: 1, column: 1, "needs a login here, too"),
        Fault("[broker]\nadvertise = \"b.example\"", line: 2, column: 13, "begins with mqtt://"),
        Fault("[session]\npreset = \"forever\"", line: 2, column: 10, "not one of \"device\""),
        Fault("[session]\naccess = \"61m\"", line: 2, column: 10, "1 second to 1 hour"),
        Fault("[session]\naccess = \"10ms\"", line: 2, column: 10, "1 second to 1 hour"),
        Fault("[session]\nabsolute = \"299s\"", line: 2, column: 12, "from 5 minutes to 1 year"),
        Fault("[session]\nabsolute = \"366d\"", line: 2, column: 12, "from 5 minutes to 1 year"),
        Fault("[session]\nidle = \"always\"", line: 2, column: 8, "a duration is"),
        Fault("[session]\nidle = \"3m\"", line: 2, column: 8, "must be longer than the heartbeat"),
        Fault("[session]\nheartbeat = \"1500ms\"", line: 2, column: 13, "must be whole seconds"),
        Fault("[session]\nspread = \"61m\"", line: 2, column: 10, "at most an hour"),
        Fault("[session]\nspread = \"1500ms\"", line: 2, column: 10, "whole seconds"),
        Fault("[session]\nspread = \"-1s\"", line: 2, column: 10, "a duration is"),
        Fault("[session]\nspread = 30", line: 2, column: 10, "must be a string, not an integer"),
        Fault("[session]\nabsolute = \"1d\"\noffline = \"7d\"", line: 3, column: 11,
            "no longer than"),
        Fault("[claim]\nexpires = \"-1h\"", line: 2, column: 11, "a duration is"),
        Fault("POSTERN_SESSION_ACCESS", "2h", in: Samples.authority, "1 second to 1 hour"),
    ]

    @Test("name the fault and its place", arguments: faults)
    func fault(_ fault: Fault) {
        let error = #expect(throws: SettingsError.self) {
            try parse(fault.text, fault.variables)
        }
        #expect(fault.stands(at: error), "\(String(describing: error))")
        #expect(error?.message.contains(fault.says) == true, "\(String(describing: error))")
    }
}
