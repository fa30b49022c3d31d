import Testing

@testable import ConfigurationFiles

@Suite("TOML")
struct TOMLTests {
    /// The document in one line: `{a:"x" b:{c:[1 2]}}`.
    private func read(_ text: String) throws -> String {
        Self.text(of: try TOMLReader.table(of: text, file: "t.toml"))
    }

    private static func text(of table: TOMLTable) -> String {
        let members = table.entries.sorted { $0.key < $1.key }
            .map { "\($0.key):\(text(of: $0.value.node.value))" }
        return "{" + members.joined(separator: " ") + "}"
    }

    private static func text(of value: TOMLValue) -> String {
        switch value {
        case .string(let text): "\"\(text)\""
        case .integer(let number): "\(number)"
        case .decimal(let number): "\(number)"
        case .boolean(let flag): "\(flag)"
        case .array(let nodes):
            "[" + nodes.map { text(of: $0.value) }.joined(separator: " ") + "]"
        case .table(let table): text(of: table)
        case .tables(let list):
            "[[" + list.all.map { text(of: $0) }.joined(separator: " ") + "]]"
        }
    }

    @Test("has strings, numbers, booleans and arrays", arguments: [
        ("a = \"x\\t\\\"\\\\\\u00E9\\U0001F600\"", "{a:\"x\t\"\\é😀\"}"),
        ("a = 'C:\\n'", "{a:\"C:\\n\"}"),
        ("a = \"\"\"\nx\r\n  y\\\n   z\"\"\"", "{a:\"x\n  yz\"}"),
        ("a = \"\"\"\"q\"\"\"\"\"", "{a:\"\"q\"\"\"}"),
        ("a = '''\n\\x''y'''", "{a:\"\\x''y\"}"),
        ("a = \"\" # \"", "{a:\"\"}"),
        ("a = 0\nb = -7\nc = +1_000", "{a:0 b:-7 c:1000}"),
        ("a = 9223372036854775807\nb = -9223372036854775808",
         "{a:9223372036854775807 b:-9223372036854775808}"),
        ("a = 1.5\nb = -0.25e1\nc = 5E+2", "{a:1.5 b:-2.5 c:500.0}"),
        ("a = true\nb = false", "{a:true b:false}"),
        ("a = [1, [\"x\", true], # c\n  { b = 1 },\n]", "{a:[1 [\"x\" true] {b:1}]}"),
        ("a = []\r\n\tb = [ ]", "{a:[] b:[]}"),
        ("", "{}"), ("# nothing", "{}"),
    ])
    func values(text: String, read expected: String) throws {
        #expect(try read(text) == expected)
    }

    @Test("has tables, arrays of tables, inline tables and keys with dots", arguments: [
        ("[a]\nb = 1\n[a.c]\nd = 2", "{a:{b:1 c:{d:2}}}"),
        ("[a.b]\nc = 1\n[a]\nd = 2", "{a:{b:{c:1} d:2}}"),
        ("[[a]]\nb = 1\n[a.c]\nd = 2\n[[a]]", "{a:[[{b:1 c:{d:2}} {}]]}"),
        ("[[a]]\n[[a.b]]\nc = 1\n[[a.b]]", "{a:[[{b:[[{c:1} {}]]}]]}"),
        ("a.b.c = 1\na.\"d e\" = 2\na . 'f' = 3", "{a:{b:{c:1} d e:2 f:3}}"),
        ("a = { b.c = 1, b.d = 2, \"\" = {} }", "{a:{:{} b:{c:1 d:2}}}"),
        ("[a]\nb.c = 1\n[a.d]\n[x . \"y\"]", "{a:{b:{c:1} d:{}} x:{y:{}}}"),
        ("1 = 2\n-_ = 3", "{-_:3 1:2}"),
    ])
    func tables(text: String, read expected: String) throws {
        #expect(try read(text) == expected)
    }

    @Test("refuses what it has not, and names the place", arguments: [
        ("a = 1\na = 2", "2:1", "already defined"),
        ("[a]\n[a]", "2:2", "already defined"),
        ("a = 1\n[a]", "2:2", "already defined"),
        ("a = 1\n[a.b]", "2:2", "not a table"),
        ("a = {}\n[a.b]", "2:2", "not a table"),
        ("a = [{}]\n[[a]]", "2:3", "already defined"),
        ("[[a]]\n[a]", "2:2", "already defined"),
        ("[a]\n[[a]]", "2:3", "already defined"),
        ("a.b = 1\n[a]", "2:2", "already defined"),
        ("a = {}\na.b = 1", "2:1", "complete"),
        ("[a.b.c]\n[a]\nb.d = 1", "3:1", "complete"),
        ("a = {b = 1, b = 2}", "1:13", "already defined"),
        ("a = {b = 1,}", "1:12", "a key has"),
        ("a = {b = 1\n}", "1:11", "on one line"),
        ("a = [1 2]", "1:8", "a comma"),
        ("a = [1", "1:5", "does not end"),
        ("a = 1 b = 2", "1:7", "nothing after it"),
        ("a = \"x", "1:7", "does not end"),
        ("a = \"x\n\"", "1:7", "does not end"),
        ("a = \"\\x41\"", "1:6", "an escape is"),
        ("a = \"\\uD800\"", "1:6", "an escape is"),
        ("a = \"\\u+041\"", "1:6", "an escape is"),
        ("a = \"\\u004", "1:6", "an escape is"),
        ("a = \"\\", "1:6", "an escape is"),
        ("a = \"\u{1}\"", "1:6", "control character"),
        ("# \u{7F}", "1:3", "control character"),
        ("a = 1\rb = 2", "1:6", "nothing after it"),
        ("\u{FEFF}a = 1", "1:1", "a key has"),
        ("a", "1:2", "followed by ="), ("a =", "1:4", "a value is"), ("= 1", "1:1", "a key has"),
        ("\"\"\"a\"\"\" = 1", "1:1", "on one line"),
        ("a. = 1", "1:4", "a key has"),
        ("a = 01", "1:5", "is not a value"), ("a = 1__0", "1:5", "is not a value"),
        ("a = _1", "1:5", "is not a value"), ("a = 1.", "1:5", "is not a value"),
        ("a = .5", "1:5", "is not a value"), ("a = 1e", "1:5", "is not a value"),
        ("a = 1.e2", "1:5", "is not a value"), ("a = 1e999", "1:5", "is not a value"),
        ("a = 0x1F", "1:5", "is not a value"), ("a = inf", "1:5", "is not a value"),
        ("a = nan", "1:5", "is not a value"), ("a = True", "1:5", "is not a value"),
        ("a = yes", "1:5", "is not a value"),
        ("a = 9223372036854775808", "1:5", "too large"),
        ("a = 1979-05-27", "1:5", "dates and times"), ("a = 07:32", "1:5", "dates and times"),
        ("[a", "1:3", "ends with ]"), ("[[a]", "1:5", "ends with ]]"), ("[]", "1:2", "a key has"),
    ])
    func faults(text: String, place: String, says: String) {
        let error = #expect(throws: SettingsError.self) { try read(text) }
        let description = String(describing: error?.description)
        #expect(error?.description.hasPrefix("t.toml:\(place): ") == true, "\(description)")
        #expect(error?.message.contains(says) == true, "\(description)")
    }

    @Test("ends at a depth of 100 and at 1 MiB")
    func bounds() throws {
        func nested(_ depth: Int) -> String {
            "a = " + String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try read(nested(100))
        #expect(throws: SettingsError.self) { try read(nested(101)) }
        let tables = String(repeating: "{a=", count: 101)
        #expect(throws: SettingsError.self) { try read("a = " + tables) }
        _ = try read("#" + String(repeating: " ", count: (1 << 20) - 1))
        #expect(throws: SettingsError.self) {
            try read("#" + String(repeating: " ", count: 1 << 20))
        }
    }
}
