import ConfigurationFiles
import Sessions
import Testing

@Suite("Settings of alerts")
struct AlertSettingTests {
    private func parse(_ text: String) throws -> AlertSettings {
        try AuthoritySettings.parse(text, file: "authority.toml", environment: { _ in nil }).alerts
    }

    private static let mail = """
        email_from = "p@a.example"
        email_to = ["ada@b.example"]

        """

    @Test("send nothing anywhere without a section, and have the default rules")
    func none() throws {
        let alerts = try parse("")
        #expect(alerts.webhook == nil)
        #expect(alerts.ntfy == nil)
        #expect(alerts.mail == nil)
        #expect(alerts.rules == AlertRules())
    }

    @Test("never call a board offline that sends its heartbeats")
    func heartbeat() throws {
        #expect(try parse("[session]\nheartbeat = \"20m\"").rules.offlineAfter == .seconds(2400))
        #expect(throws: SettingsError.self) { try parse("[alerts]\noffline_after = \"5m\"") }
    }

    @Test("demand TLS off loopback, unless insecure", arguments: [
        ("smtp://mail.example:587", "", true), ("smtp://127.0.0.1:25", "", false),
        ("smtp://mail.example:25", "insecure = true", false),
        ("smtps://mail.example:465", "", false),
    ])
    func encryption(server: String, more: String, demands: Bool) throws {
        let alerts = try parse("[alerts]\nsmtp = \"\(server)\"\n\(Self.mail)\(more)")
        #expect(alerts.mail?.demandsTLS == demands)
    }

    @Test("refuse what cannot be used", arguments: [
        "webhook = \"https://a.example\"", "webhook_secret_file = \"/s\"",
        "webhook = \"http://a.example\"\nwebhook_secret_file = \"/s\"",
        "webhook = \"https://u:p@a.example\"\nwebhook_secret_file = \"/s\"",
        "webhook = \"ftp://a.example\"\nwebhook_secret_file = \"/s\"",
        "ntfy = \"http://a.example/x\"", "ntfy = \"https://a.example/x#y\"",
        "ntfy_token_file = \"/s\"", "email_from = \"a@b.example\"",
        "smtp = \"smtps://a.example:465\"", "smtp = \"smtps://a.example\"\n" + mail,
        "smtp = \"https://a.example:465\"\n" + mail,
        "smtp = \"smtps://a.example:465\"\nsmtp_username = \"x\"\n" + mail,
        "smtp = \"smtps://a.example:465\"\nemail_from = \"a b@c.example\"\nemail_to = [\"a@b.c\"]",
        "smtp = \"smtps://a.example:465\"\nemail_from = \"a@b.example\"\nemail_to = [\"a@b>c\"]",
        "smtp = \"smtps://a.example:465\"\nemail_from = \"a@b.example\"\nemail_to = []",
        "ending = [\"0d\"]", "refused_per_hour = 0", "silent_after = \"soon\"",
    ])
    func refused(text: String) {
        #expect(throws: SettingsError.self) { try parse("[alerts]\n\(text)") }
    }
}
