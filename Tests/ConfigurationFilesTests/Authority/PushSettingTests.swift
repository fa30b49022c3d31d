import ConfigurationFiles
import Testing

@Suite("Settings of alerts on phones")
struct PushSettingTests {
    private func parse(_ text: String) throws -> PushSettings? {
        try AuthoritySettings.parse(
            "[alerts]\n\(text)", file: "authority.toml", environment: { _ in nil }
        ).alerts.push
    }

    @Test("send nothing unless push is true, and then to the known services")
    func known() throws {
        #expect(try parse("") == nil)
        #expect(try parse("push = false") == nil)
        let push = try #require(try parse("push = true"))
        #expect(push.permits("https://fcm.googleapis.com/fcm/send/abc:d-e_f"))
        #expect(push.permits("https://web.push.apple.com/QGuQ"))
        #expect(push.permits("https://wns2-par02p.notify.windows.com/w/?token=BQ%3d"))
    }

    @Test("refuse every other address", arguments: [
        "", "https://", "https://fcm.googleapis.com", "http://fcm.googleapis.com/a",
        "https://fcm.googleapis.com:444/a", "https://fcm.googleapis.com@10.0.0.1/a",
        "https://10.0.0.1/a", "https://127.0.0.1/a", "https://[::1]/a", "https://localhost/a",
        "https://x.fcm.googleapis.com/a", "https://FCM.googleapis.com/a",
        "https://notify.windows.com/a", "https://evilnotify.windows.com/a",
        "https://fcm.googleapis.com\\@10.0.0.1/a", "https://fcm.googleapis.com?x=/a",
        "https://fcm.googleapis.com/a#b", "https://fcm.googleapis.com/a b",
        "https://fcm.googleapis.com/\n", "https://fcm.googleapis.com./a", "file:///etc/passwd",
        "https://fcm.googleapis.com/" + String(repeating: "a", count: 1024),
    ])
    func foreign(endpoint: String) throws {
        #expect(try parse("push = true")?.permits(endpoint) == false)
    }

    @Test("take hosts, and plain HTTP to loopback alone")
    func services() throws {
        let own = try #require(try parse(
            "push = true\npush_services = [\"push.example.com\", \"http://127.0.0.1:8123\"]"))
        #expect(own.permits("https://push.example.com/a"))
        #expect(own.permits("http://127.0.0.1:8123/a"))
        #expect(!own.permits("http://127.0.0.1:8124/a"))
        #expect(!own.permits("https://fcm.googleapis.com/a"))
    }

    @Test("refuse what is no host", arguments: [
        "push_services = [\"a.example\"]", "push = true\npush_services = []",
        "push = true\npush_services = [\"https://a.example\"]",
        "push = true\npush_services = [\"http://a.example\"]",
        "push = true\npush_services = [\"http://127.0.0.1:80/a\"]",
        "push = true\npush_services = [\"*\"]", "push = true\npush_services = [\"localhost\"]",
        "push = true\npush_services = [\"*.*.example\"]", "push = \"yes\"",
    ])
    func refused(text: String) {
        #expect(throws: SettingsError.self) { try parse(text) }
    }
}
