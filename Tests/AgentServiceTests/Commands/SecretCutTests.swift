import Foundation
import Sessions
import Testing
import Wire

@testable import AgentCommands
@testable import AgentService

@Suite("Secret cut")
struct SecretCutTests {
    private static let random = "Zm9vYmFyYmF6cXV4QUJDREVGR0hJSktMTU5PUFFSU1Q"

    private static func cut(_ text: String, knowing secrets: [String] = []) -> String {
        var cut = SecretCut(knowing: secrets.map { SecretBytes(Array($0.utf8)) })
        return String(decoding: cut.cut(Array(text.utf8)), as: UTF8.self)
    }

    @Test("leaves nothing of a secret's look", arguments: [
        "mqtt://ada:hunter2-x@broker.example:1883 refused",
        "https://a.example/claim#v=1&i=x&k=y&c=hunter2-x&n=z",
        "token r:hunter2-xAAAAAAAAAAAAAAAAAAAAAAA is over",
        "rt:hunter2-xAAAAAAAAAAAAAAAAAAAAAAA",
        "got eyJhbGciOiJFZERTQSJ9.eyJhIjoihunter2-x.c2ln",
        "password = \"hunter2-x\"", "PASSWORD: hunter2-x", "thermo's password is hunter2-x",
        "broker_password=hunter2-x", "export SECRET_KEY=hunter2-x",
        "{\"password\":\"hunter2-x\",\"a\":1}", "{\"a\":{\"apiToken\":[\"hunter2-x\"]}}",
        "Authorization: Bearer hunter2-x", "remote_password hunter2-x",
        "a\n-----BEGIN EC PRIVATE KEY-----\nhunter2-x\n-----END EC PRIVATE KEY-----\nb",
        "-----BEGIN PRIVATE KEY-----\nhunter2-x",
        "p\u{0}a\u{0}s\u{0}s\u{0}w\u{0}o\u{0}r\u{0}d\u{0}:\u{0} \u{0}h\u{0}u\u{0}n\u{0}ter2-x",
    ])
    func looks(text: String) {
        let left = Self.cut(text)
        #expect(!left.contains("hunter2-x"), "\(left)")
        #expect(left.contains(SecretCut.mark))
    }

    @Test("leaves no random text as long as a key", arguments: [
        random, String(repeating: "0a", count: 32), String(repeating: "0A", count: 32),
        "Zm9vYmFyYmF6cXV4QUJ+REVGR0hJSktMTU5/UFFSU1Q=",
    ])
    func runs(text: String) {
        #expect(Self.cut("before \(text) after") == "before \(SecretCut.mark) after")
    }

    @Test("leaves no known value, in any form of writing")
    func known() {
        let secret = "pass phrase of the bus"
        let bytes = Array(secret.utf8)
        let hex = bytes.map { String(format: "%02x", $0) }.joined()
        for form in [
            secret, hex, hex.uppercased(), Data(bytes).base64EncodedString(),
            Base64URL.encode(bytes),
        ] {
            let left = Self.cut("it was \(form), they said", knowing: [secret])
            #expect(left.hasPrefix("it was \(SecretCut.mark)"), "\(left)")
        }
    }

    @Test("keeps what helps", arguments: [
        "password_file = \"/etc/postern/bus.password\"",
        "/usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so",
        "board 3f2a8c1e-9b7d-4c2a-8e1f-0a1b2c3d4e5f is up since 2026-11-22T03:24:30Z",
        "{\"found\":\"TCP: Connection refused\",\"tokens\":12}",
        "warning: upstream: TLS: the certificate: certificate has expired",
        "the access token was refreshed",
    ])
    func kept(text: String) {
        #expect(Self.cut(text) == text)
    }

    @Test("cuts comments out of settings, and nothing inside quotes")
    func comments() {
        var cut = SecretCut(knowing: [])
        let text = "# for thermo: hunter2\nname = \"a # b\" # c\nbase = 'x#y'\n"
        let left = String(decoding: cut.cut(settings: Array(text.utf8)), as: UTF8.self)
        #expect(left == "# [cut]\nname = \"a # b\" # [cut]\nbase = 'x#y'\n")
        #expect(cut.counts["comments"] == 1)
    }

    @Test("makes an archive that tar reads")
    func tar() throws {
        let folder = try TemporaryFolder()
        var archive = TarArchive(at: Timestamp(milliseconds: 1_800_000_000_000))
        archive.add("a/one", Array("1".utf8))
        archive.add("two", [UInt8](repeating: 7, count: 512))
        let path = folder.path + "/x.tar"
        try Data(archive.closed()).write(to: URL(filePath: path))
        #expect(archive.closed().count == 512 * 6)
        let tar = Process()
        tar.executableURL = URL(filePath: "/bin/tar")
        tar.arguments = ["-C", folder.path, "-xf", path]
        try tar.run()
        tar.waitUntilExit()
        #expect(tar.terminationStatus == 0)
        let one = try Data(contentsOf: URL(filePath: folder.path + "/a/one"))
        let two = try Data(contentsOf: URL(filePath: folder.path + "/two"))
        #expect(one == Data("1".utf8))
        #expect(two == Data(repeating: 7, count: 512))
    }
}
