import ConfigurationFiles
import Gate
import Testing

@Suite("File of cases")
struct CaseFileTests {
    private static let write = "app = \"a\"\nop = \"create\"\nclass = \"A\"\n"

    @Test("reads each case with its line")
    func cases() throws {
        let cases = try CaseFile.parse("""
            # Cases.
            [[case]]
            name = "a reading"
            app = "thermo"
            op = "create"
            class = "Reading"
            payload = '{"celsius":21.5}'
            expect = "allow"
            rule = "policy.toml:8"

            [[case]]
            topic = "zigbee2mqtt/lamp"
            payload_file = "lamp.json"
            expect = "deny"
            code = 142
            field = "a.b"
            """, file: "cases.toml")
        #expect(cases == [
            PolicyCase(
                line: 2, name: "a reading",
                subject: .write(try #require(AppName("thermo")), .create, className: "Reading"),
                payload: .text("{\"celsius\":21.5}"),
                expected: .init(allows: true, rule: "policy.toml:8")),
            PolicyCase(
                line: 11, name: nil, subject: .topic("zigbee2mqtt/lamp"),
                payload: .file("lamp.json"),
                expected: .init(allows: false, code: 142, field: "a.b")),
        ])
        #expect(try CaseFile.parse("", file: "x").isEmpty)
    }

    @Test("may name a class that no class is: an app could write it")
    func badClass() throws {
        let text = "[[case]]\napp = \"a\"\nop = \"create\"\nclass = \"a b\"\nexpect = \"deny\""
        #expect(try CaseFile.parse(text, file: "x").count == 1)
    }

    @Test("with any fault is refused, and the place named", arguments: [
        ("[[case]]\n" + write, 1, "case.expect is missing"),
        ("[[case]]\n" + write + "expect = \"pass\"", 5, "not one of \"allow\", \"deny\""),
        ("[[case]]\nexpect = \"deny\"", 1, "case.app is missing"),
        ("[[case]]\napp = \"a\"\nexpect = \"deny\"", 1, "case.op is missing"),
        ("[[case]]\napp = \"A\"\nexpect = \"deny\"", 2, "\"A\" is not an app"),
        ("[[case]]\ntopic = \"x\"\nop = \"create\"\nexpect = \"deny\"", 3,
            "must be absent beside topic"),
        ("[[case]]\n" + write + "expect = \"deny\"\npayload = \"\"\npayload_file = \"x\"",
            7, "must be absent beside payload"),
        ("[[case]]\n" + write + "expect = \"allow\"\ncode = 119", 6, "needs expect"),
        ("[[case]]\n" + write + "expect = \"deny\"\ncode = \"119\"", 6, "whole number"),
        ("[[case]]\n" + write + "expects = \"deny\"", 5,
            "the nearest known is \"expect\""),
        ("case = 1", 1, "each under [[case]]"),
        ("[[case]\n", 1, ""),
    ] as [(String, Int, String)])
    func fault(text: String, line: Int, says: String) {
        let error = #expect(throws: SettingsError.self) {
            try CaseFile.parse(text, file: "cases.toml")
        }
        #expect(error?.line == line)
        #expect(error?.message.contains(says) == true, "\(String(describing: error))")
    }
}
