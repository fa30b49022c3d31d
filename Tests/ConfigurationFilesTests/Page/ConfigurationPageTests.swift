import ConfigurationFiles
import Testing

/// Holds `Provisioning/CONFIGURATION.md` to what the readers of the three files do.
@Suite("Page of the configuration")
struct ConfigurationPageTests {
    private static let tls = ["tls.own": "true", "tls.hosts": "[\"a.example\"]"]

    private static var agent: DescribedFile<BoardSettings> {
        let route = [
            "route.from": "\"tele/+\"", "route.app": "\"tasmota\"", "route.class": "\"Note\"",
            "route.op": "\"create\"",
        ]
        return DescribedFile(
            name: "agent.toml", known: .agent, least: ["uplink.uri": "\"mqtts://b.example\""],
            beside: [
                "bus.password_file": ["bus.username": "\"a\""],
                "bus.certificate_file": ["bus.key_file": "\"/k\""],
                "bus.key_file": ["bus.certificate_file": "\"/c\""],
                "bus.insecure": ["bus.uri": "\"mqtt://192.0.2.7\""],
                "uplink.certificate_file": ["uplink.key_file": "\"/k\""],
                "uplink.key_file": ["uplink.certificate_file": "\"/c\""],
                "home_assistant.prefix": ["home_assistant.discovery": "true"],
                "route": route,
                "route.op": route.merging(["route.op": "\"update\""]) { $1 },
                "route.object_id": route.merging(["route.op": "\"update\""]) { $1 },
            ]
        ) { text, variables throws(SettingsError) in
            try BoardSettings.parse(text, file: "agent.toml") { variables[$0] }
        }
    }

    @Test("has the keys of agent.toml, their defaults and examples")
    func agent() throws { try Self.agent.check() }

    @Test("has no key of agent.toml whose change the agent does not name")
    func differences() throws {
        let routes = KnownKeys.agent.paths.filter { $0[0] == "route" }
            .map { $0.joined(separator: ".") }
        try Self.agent.checkDifferences(unnamed: Set(routes + ["bus.insecure"])) {
            $0.keysUnlike($1)
        }
    }

    @Test("has the keys of policy.toml, their defaults and examples")
    func policy() throws {
        try DescribedFile(
            name: "policy.toml", known: .policy,
            least: ["rule.class": "\"Note\"", "rule.allow": "[]"],
            beside: [
                "app.*.burst": ["app.*.rate": "\"5/s\""], "rule.burst": ["rule.rate": "\"5/s\""],
                "app.*.commands": ["app.*.rate": "\"5/s\""],
                "app.*.command_fields": ["app.*.commands": "true"],
                "app.*.command_rate": ["app.*.commands": "true"],
            ]
        ) { text, _ throws(SettingsError) in
            try PolicyFile.parse(text, file: "policy.toml")
        }.check()
    }

    @Test("has the keys of authority.toml, their defaults and examples")
    func authority() throws {
        try DescribedFile(
            name: "authority.toml", known: .authority, least: [:], beside: Self.besideAuthority
        ) { text, variables throws(SettingsError) in
            try AuthoritySettings.parse(text, file: "authority.toml") { variables[$0] }
        }.check()
    }

    private static var besideAuthority: [String: Values] {
        let external = ["broker.mode": "\"external\"", "broker.uri": "\"mqtts://c.example\""]
        let named = external.merging(["broker.username": "\"a\""]) { $1 }
        let asks = named.merging([
            "broker.access": "\"http\"", "broker.password_file": "\"/p\"",
            "broker.access_secret_file": "\"/s\"",
        ]) { $1 }
        let hook = ["alerts.webhook": "\"https://a.example\""]
        let mail = [
            "alerts.smtp": "\"smtps://a.example:465\"", "alerts.email_from": "\"a@b.example\"",
            "alerts.email_to": "[\"c@d.example\"]",
        ]
        let login = [
            "login.*.issuer": "\"https://i.example\"", "login.*.audience": "\"a\"",
            "login.*.keys": "\"/k\"",
        ]
        let button = login.merging(["login.*.client_id": "\"a\""]) { $1 }
        return [
            "alerts.webhook": ["alerts.webhook_secret_file": "\"/s\""],
            "alerts.webhook_secret_file": hook,
            "alerts.ntfy_token_file": ["alerts.ntfy": "\"https://a.example\""],
            "alerts.smtp": mail, "alerts.email_from": mail, "alerts.email_to": mail,
            "alerts.smtp_username": mail.merging(["alerts.smtp_password_file": "\"/p\""]) { $1 },
            "alerts.smtp_password_file": mail.merging(["alerts.smtp_username": "\"u\""]) { $1 },
            "alerts.push_services": ["alerts.push": "true"],
            "postgres": ["store": "\"postgres://db.example/p\""],
            "http.listen": tls, "http.client_ca_file": tls,
            "http.certificate_file": ["http.key_file": "\"/k\""],
            "http.key_file": ["http.certificate_file": "\"/c\""],
            "http.master_key_from": ["http.master_key_file": "\"/m\""],
            "broker.mode": external.filter { $0.key == "broker.uri" },
            "broker.listen": tls, "broker.client_ca_file": tls,
            "broker.uri": external, "broker.username": external, "broker.ca_file": external,
            "broker.password_file": named,
            "broker.certificate_file": ["broker.key_file": "\"/k\""],
            "broker.key_file": ["broker.certificate_file": "\"/c\""],
            "broker.access": asks.merging(["broker.access": "\"none\""]) { $1 },
            "broker.access_secret_file": asks, "broker.vhost": asks,
            "tls.own": tls.filter { $0.key == "tls.hosts" },
            "tls.hosts": ["tls.own": "true"],
            "login.*": login,
            "login.*.client_id": login.merging(["login.*.audience": "\"postern-web\""]) { $1 },
            "login.*.client_secret_file": button, "login.*.title": button,
            "login.*.authorization_endpoint": button.merging([
                "login.*.token_endpoint": "\"https://t.example\"",
            ]) { $1 },
            "login.*.token_endpoint": button.merging([
                "login.*.authorization_endpoint": "\"https://t.example\"",
            ]) { $1 },
        ]
    }

    @Test("has what each preset sets")
    func presets() throws {
        let presets = try ConfigurationPage.presets()
        for preset in presets {
            try #require(preset.count == 4)
            let single = """
                session.access = \(preset[1])
                session.absolute = \(preset[2])
                session.idle = \(preset[3])
                """
            let lifetimes = try ["session.preset = \"\(preset[0])\"", single].map { text in
                try AuthoritySettings.parse(text, file: "authority.toml") { _ in nil }.lifetimes
            }
            #expect(lifetimes[0] == lifetimes[1], "\(preset)")
        }
        let row = try ConfigurationPage.rows(of: "authority.toml")
            .first { $0.path == "session.preset" }
        #expect(row?.choices == presets.map { $0[0] })
    }
}
