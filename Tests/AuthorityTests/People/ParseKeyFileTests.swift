import AuthorityHTTP
import ConfigurationFiles
import Foundation
import Sessions
import Testing

@testable import AuthorityService

@Suite("Key files of Parse's API")
struct ParseKeyFileTests {
    private func settings(_ text: String) throws -> ServiceSettings {
        try ServiceSettings(
            AuthoritySettings.parse(text, file: "authority.toml", environment: { _ in nil }))
    }

    private func write(
        _ text: String, mode: Int = 0o600, in folder: TemporaryFolder
    ) throws -> String {
        let path = "\(folder.path)/key"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        return path
    }

    @Test("are read to the end of their first line")
    func read() throws {
        let folder = try TemporaryFolder()
        let path = try write("sixteen bytes ok\nand more\n", in: folder)
        let rules = try settings(
            "[http]\nmount = \"/api\"\nmaster_key_file = \"\(path)\"\n"
                + "rest_api_key = \"k\"\n[session.permissions]\nget = true\n"
        ).parseRules()
        let key = SecretBytes("sixteen bytes ok")
        #expect(rules.masterKey?.matches(key) == true)
        #expect(rules.restAPIKey?.matches(SecretBytes("k")) == true)
        #expect(rules.mount == "/api")
        #expect(rules.sessionPermissions.allows(.get))
        #expect(!rules.takesMasterKeyFromAnywhere)
        let none = try settings("[http]\nrest_api_key_file = \"\(path)\"").parseRules()
        #expect(none.masterKey == nil)
        #expect(none.restAPIKey?.matches(key) == true)
    }

    @Test("are refused where clients would have the master key")
    func equal() throws {
        let folder = try TemporaryFolder()
        let path = try write("sixteen-bytes-ok\n", in: folder)
        for client in ["rest_api_key = \"sixteen-bytes-ok\"", "rest_api_key_file = \"\(path)\""] {
            let settings = try settings(
                "[http]\nmaster_key_file = \"\(path)\"\n\(client)\n")
            #expect { try settings.parseRules() } throws: { error in
                "\(error)".contains("rest_api_key") && !"\(error)".contains("sixteen")
            }
        }
    }

    @Test("are refused where they are short, open to others, or not there", arguments: [
        ("fifteen bytes k\n", 0o600), ("", 0o600), ("sixteen bytes ok\n", 0o644),
        ("sixteen bytes ok\n", 0o660),
    ])
    func refused(text: String, mode: Int) throws {
        let folder = try TemporaryFolder()
        let path = try write(text, mode: mode, in: folder)
        let settings = try settings("[http]\nmaster_key_file = \"\(path)\"")
        #expect(throws: (any Error).self) { try settings.parseRules() }
        let gone = try self.settings("[http]\nmaster_key_file = \"\(path).gone\"")
        #expect(throws: (any Error).self) { try gone.parseRules() }
    }
}
