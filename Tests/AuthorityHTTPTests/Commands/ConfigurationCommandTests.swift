import Foundation
import Testing

@Suite("postern boards configuration")
struct ConfigurationCommandTests {
    @Test("prints both texts, or the answer")
    func prints() async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("boards configuration greenhouse") == """
                # policy.toml
                default = "deny"
                # routes.toml
                [[route]]
                from = "a/+"
                [0]
                """)
            #expect(await person.types("boards configuration greenhouse --json") == #"""
                {"policy":"default = \"deny\"\n","routes":"[[route]]\nfrom = \"a/+\"\n",\#
                "savedAt":5}
                [0]
                """#)
        }
    }

    @Test("writes files of mode 0600, and replaces none")
    func writes() async throws {
        try await Person.loggedIn { person in
            let folder = person.folder + "/kept"
            let line = "boards configuration greenhouse --out \(folder)"
            #expect(await person.types(line) == """
                ! ✓ \(folder)/policy.toml
                ! ✓ \(folder)/routes.toml
                [0]
                """)
            for (name, text) in [
                ("policy.toml", "default = \"deny\"\n"),
                ("routes.toml", "[[route]]\nfrom = \"a/+\"\n"),
            ] {
                let path = "\(folder)/\(name)"
                #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
                #expect(mode as? Int == 0o600)
            }
            let again = await person.types(line)
            #expect(again.contains("there is such a file already; name another folder"))
            #expect(again.hasSuffix("[2]"))
        }
    }

    @Test("is announced by a replacement")
    func replaced() async throws {
        try await Person.loggedIn { person in
            let said = await person.types("boards replace greenhouse greenhouse")
            #expect(said.contains("! the new board takes the old one's policy and routes"))
        }
    }
}
