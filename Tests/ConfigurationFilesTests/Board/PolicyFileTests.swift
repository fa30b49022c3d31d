import ConfigurationFiles
import Gate
import Testing

@Suite("Policy file")
struct PolicyFileTests {
    private func parse(_ text: String) throws(SettingsError) -> Policy {
        try PolicyFile.parse(text, file: "test.toml")
    }

    @Test("reads the design's sample")
    func sample() throws {
        let policy = try parse(Samples.policy)
        let thermo = try #require(AppName("thermo"))
        #expect(policy.allowsByDefault)
        #expect(policy.apps == [
            thermo: AppLimit(rate: try Rate("100/s"), maxBytes: ByteCount(bytes: 65_536))
        ])
        #expect(policy.rules == [
            Rule(
                id: .policy(line: 6), app: thermo, className: ClassName("Reading"),
                allow: [.create],
                fields: ["celsius": try FieldType("number"), "unit": try FieldType("string?")],
                maxBytes: ByteCount(bytes: 4096), rate: nil)
        ])
    }

    @Test("has a default or a rule", arguments: [
        ("", 1), ("# default = \"deny\"\n", 1), ("\n\n[app.x]\nmax_bytes = 1\n", 3),
    ])
    func empty(text: String, line: Int) throws {
        let error = #expect(throws: SettingsError.self) { try parse(text) }
        #expect(error?.line == line && error?.message.contains("a default") == true)
    }

    @Test("allows by default what Parse allows, unless it says otherwise")
    func standard() throws {
        #expect(try parse("[[rule]]\nclass = \"A\"\nallow = []").allowsByDefault)
        #expect(try parse("default = \"deny\"").allowsByDefault == false)
    }

    @Test("knows each rule by its line, whatever stands between")
    func lines() throws {
        let policy = try parse("""
            # [[rule]]
            default = "allow"

              [[ rule ]]  # [[rule]]
            class = "A"
            allow = [ # [[rule]]
              "create",
              '''delete''',
            ]
            fields = { "x" = "enum(]|[[rule]])", y = "number" }
            [["rule"]]
            class = '''
            A'''
            allow = []
            [app.x]
            [[rule]]
            class = "*"
            allow = []
            """)
        #expect(policy.rules.map(\.id) == [4, 11, 16].map { .policy(line: $0) })
        #expect(policy.rules.last?.className == nil)
        #expect(policy.rules.first?.allow == [.create, .delete])
    }

    @Test("may refuse a system class by name, which narrows nothing")
    func refusesProtected() throws {
        let policy = try parse("[[rule]]\nclass = \"_User\"\nallow = []")
        #expect(policy.rules.first?.allow == [])
    }

    static let rule = "[[rule]]\nclass = \"A\"\nallow = [\"create\"]\n"

    static let faults: [Fault] = [
        Fault("default = \"maybe\"", line: 1, column: 11, "not one of \"allow\", \"deny\""),
        Fault("default = true", line: 1, column: 11, "default must be a string, not a boolean"),
        Fault("rules = []", line: 1, column: 1,
            "unknown key \"rules\"; the nearest known is \"rule\""),
        Fault("rule = 1.5", line: 1, column: 8, "not a number with a fraction"),
        Fault("[rule]\nclass = \"A\"", line: 1, column: 1, "each under [[rule]], not a table"),
        Fault("rule = [{ class = \"A\", allow = [] }]", line: 1, column: 8,
            "each under a line [[rule]]"),
        Fault(rule + "clas = \"A\"", line: 4, column: 1,
            "\"rule.clas\"; the nearest known is \"class\""),
        Fault("[[rule]]\nallow = []", line: 1, column: 1, "rule.class is missing"),
        Fault("[[rule]]\nclass = \"A\"", line: 1, column: 1, "rule.allow is missing"),
        Fault("[[rule]]\nclass = \"A\"\nallow = \"create\"", line: 3, column: 9,
            "an array of strings, not a string"),
        Fault("[[rule]]\nclass = \"A\"\nallow = [1]", line: 3, column: 10,
            "one element is an integer"),
        Fault("[[rule]]\nclass = \"A\"\nallow = [\"read\"]", line: 3, column: 10,
            "\"read\" is not one of"),
        Fault("[[rule]]\nclass = \"_User\"\nallow = [\"create\"]", line: 2, column: 9,
            "_User is protected"),
        Fault("[[rule]]\nclass = \"_Session\"\nallow = [\"delete\"]", line: 2, column: 9,
            "is protected"),
        Fault("[[rule]]\nclass = \"_Role\"\nallow = [\"update\"]", line: 2, column: 9,
            "is protected"),
        Fault("[[rule]]\nclass = \"_Join\"\nallow = [\"create\"]", line: 2, column: 9,
            "a system class"),
        Fault(rule + "[[rule]]\nclass = \"+\"\nallow = []", line: 5, column: 9,
            "\"+\" is not a class"),
        Fault("[[rule]]\nclass = \"_\u{0423}ser\"\nallow = []", line: 2, column: 9,
            "is not a class"),
        Fault("[[rule]]\nclass = 7\nallow = []", line: 2, column: 9,
            "rule.class must be a string, not an integer"),
        Fault(rule + "app = \"Thermo\"", line: 4, column: 7, "\"Thermo\" is not an app"),
        Fault(rule + "fields = { x = \"float\" }", line: 4, column: 16,
            "rule.fields.x: a field is one of"),
        Fault(rule + "fields = { x = 1 }", line: 4, column: 16, "rule.fields.x must be a type"),
        Fault(rule + "fields = [\"x\"]", line: 4, column: 10,
            "rule.fields must be a table, not an array"),
        Fault(rule + "[rule.fields]\nx = \"float\"", line: 5, column: 5,
            "rule.fields.x: a field is one of"),
        Fault(rule + "max_bytes = \"4 KB\"", line: 4, column: 13, "a size is written"),
        Fault(rule + "rate = \"fast\"", line: 4, column: 8, "a rate is written"),
        Fault(rule + "burst = 4", line: 4, column: 9, "rule.burst needs a rate"),
        Fault(rule + "rate = \"4/s\"\nburst = 0", line: 5, column: 9,
            "rule.burst must be from 1 to 1000000"),
        Fault(rule + "rate = \"4/s\"\nburst = \"4\"", line: 5, column: 9,
            "a whole number, not a string"),
        Fault("[app.Thermo]\nrate = \"1/s\"", line: 1, column: 6, "\"Thermo\" is not an app"),
        Fault("[app]\nthermo = 1", line: 2, column: 10,
            "app.thermo must be a table, not an integer"),
        Fault("[app.thermo]\nrates = \"1/s\"", line: 2, column: 1, "the nearest known is \"rate\""),
        Fault("[app.thermo]\nrate = \"0/s\"", line: 2, column: 8,
            "app.thermo.rate: a rate is written"),
        Fault("app.thermo.max_bytes = \"x\"", line: 1, column: 24, "app.thermo.max_bytes: a size"),
    ]

    @Test("with any fault is refused, and the place named", arguments: faults)
    func fault(_ fault: Fault) {
        let error = #expect(throws: SettingsError.self) { try parse(fault.text) }
        #expect(fault.stands(at: error), "\(String(describing: error))")
        #expect(error?.message.contains(fault.says) == true, "\(String(describing: error))")
    }

    @Test("that is not TOML is refused with line and column", arguments: [
        ("default = \"allow\nx = 1", 1), ("\n[[rule]\nclass = \"A\"", 2),
        ("default = \"allow\"\ndefault = \"deny\"", 2), ("a = [1,\n2\n", 1),
        ("[[[", 1), ("[=]", 1), ("\n[ # a\n]", 2), ("a = [}", 1), ("a = [\n1979-05-27 x]", 2),
        ("a = 1979-05-27Tx", 1), ("a = 07:32:00", 1), ("a = [\u{A0}]", 1), ("a = { b = ] }", 1),
        ("a = 19'9-15-b5 5 T:3J", 1), ("a = [\n19\"9\"]", 2), ("a = (1", 1),
    ])
    func syntax(text: String, line: Int) {
        let error = #expect(throws: SettingsError.self) { try parse(text) }
        #expect(error?.line == line)
        #expect(error?.column != nil)
        #expect(error?.description.hasPrefix("test.toml:\(line):") == true)
    }

    @Test("that nests without end or has no end is refused")
    func hostile() {
        #expect(throws: SettingsError.self) {
            try parse("a = " + String(repeating: "[", count: 100_000))
        }
        #expect(throws: SettingsError.self) {
            try parse(String(repeating: "# \n", count: 400_000))
        }
    }
}
