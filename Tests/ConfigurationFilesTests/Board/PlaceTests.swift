import ConfigurationFiles
import Testing

@Suite("Places of errors")
struct PlaceTests {
    private func error(_ text: String) -> SettingsError? {
        #expect(throws: SettingsError.self) { try PolicyFile.parse(text, file: "p.toml") }
    }

    static let head = "[[rule]]\nclass = \"A\"\nallow = []\n"

    @Test("are those of the value, the key or the header", arguments: [
        // In inline tables and what nests in them.
        ("[app]\nx = { rate = \"1/s\", max_bytes = \"9 q\" }", "2:33"),
        ("[app]\nx = { rat = \"1/s\" }", "2:7"),
        ("app = { x = { \"burst\" = 4 } }", "1:25"),
        ("app.x = { rate = 7 }", "1:18"),
        (head + "fields = { a = { b = { c = \"q\" } } }", "4:28"),
        (head + "fields = { a = [{ b = \"any\", c = \"q\" }] }", "4:34"),
        (head + "fields = { a = [\"q\"] }", "4:16"),
        (head + "fields = { a.b = \"q\" }", "4:18"),
        (head + "fields = { \"a b\" = \"any\" }", "4:20"),
        // In arrays over several lines.
        ("[[rule]]\nclass = \"A\"\nallow = [\n  \"create\", # \"x\"\n  'erase' ]", "5:3"),
        ("[[rule]]\nclass = \"A\"\nallow = [\"create\",\n\t7]", "4:2"),
        // Under headers.
        ("  [[rule]]\n  class = \"A\"", "1:3"),
        (head + "  [[ rule ]]\nallow = []", "4:3"),
        (head + "[rule.fields.a]\nb = \"q\"", "5:5"),
        (head + "[rule.field]\nb = \"q\"", "4:7"),
        (head + "[[rule.fields]]\nb = \"any\"", "4:1"),
        ("[app.x.y]\nz = 1", "1:8"),
        ("[apps.x]\nrate = \"1/s\"", "1:2"),
        ("apps.x.rate = \"1/s\"", "1:1"),
        ("app.X.rate = \"1/s\"", "1:5"),
        // Beside other things, and in other writings.
        ("default = \"allow\" # a\n\"defau\\u006Ct2\" = 1", "2:1"),
        ("'no\\u' = 1", "1:1"),
        ("default = \"\"\"\n  \"\"\"", "1:11"),
        ("default\t=\t\"m\"", "1:11"),
        ("\r\n\r\ndefault = \"m\"\r\n", "3:11"),
        ("# \u{2603}\n[app]\nx = { rate = \"\u{E9}\u{2603}\u{1F600}\", burst = \"\" }", "3:29"),
        ("[[rule]]\nclass = \"A\"\nallow = [\"\u{1F600}\", \"create\"]", "3:10"),
    ])
    func places(text: String, place: String) {
        let error = error(text)
        #expect(error?.description.hasPrefix("p.toml:\(place): ") == true,
            "\(String(describing: error))")
    }

    @Test("are those of a route's values, too", arguments: [
        ("from = \"a/#/b\"", "4:8"), ("fro = \"a\"", "4:1"), ("app = \"z\"", "3:1"),
    ])
    func routes(line: String, place: String) {
        let text = "[uplink]\nuri = \"mqtts://b\"\n[[route]]\n\(line)"
        let error = #expect(throws: SettingsError.self) {
            try BoardSettings.parse(text, file: "a.toml", environment: { _ in nil })
        }
        #expect(error?.description.hasPrefix("a.toml:\(place): ") == true,
            "\(String(describing: error))")
    }

    @Test("count characters, where a file is not UTF-8, too")
    func notUTF8() {
        let bytes = Array("a = 1\nb = \"\u{2603}".utf8) + [0xFF] + Array("\"\n".utf8)
        let error = #expect(throws: SettingsError.self) {
            try SettingsError.text(of: bytes, file: "p.toml")
        }
        #expect(error?.description == "p.toml:2:7: the file is not UTF-8")
        #expect(throws: Never.self) { try SettingsError.text(of: Array("\u{2603}".utf8), file: "") }
    }

    /// Texts that are all of one thing, by what they are of.
    static let dense = [
        "brackets": String(repeating: "[", count: 200_000),
        "tables": String(repeating: "{a=", count: 100_000),
        "keys": "{" + String(repeating: "k=1,", count: 50_000) + "}",
        "elements": "[" + String(repeating: "1,", count: 100_000) + "]",
        "headers": "1\n"
            + String(repeating: "[[" + String(repeating: "a.", count: 90) + "b]]\n", count: 500),
    ]

    @Test("are found in a text that is all of one thing, too", arguments: dense.keys.sorted())
    func bounded(name: String) throws {
        #expect(error("x = " + (try #require(Self.dense[name]))) != nil)
    }
}
