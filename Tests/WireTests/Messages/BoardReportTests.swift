import Gate
import Sessions
import Testing
import Wire

@Suite("Board report")
struct BoardReportTests {
    private func report(_ value: JSONValue) throws -> BoardReport {
        try BoardReport(json: JSONObject(try #require(value.asObject)))
    }

    private func policy(
        _ rules: [Rule], allowsByDefault: Bool = true, apps: [AppName: AppLimit] = [:]
    ) -> Policy {
        Policy(allowsByDefault: allowsByDefault, apps: apps, rules: rules)
    }

    private func rule(
        _ line: Int, _ className: String? = "Reading", allow: Set<Operation> = [.create],
        fields: [String: FieldType]? = nil, rate: Rate? = nil
    ) -> Rule {
        Rule(
            id: .policy(line: line), app: AppName("thermo"),
            className: className.flatMap { ClassName($0) }, allow: allow, fields: fields,
            maxBytes: ByteCount(bytes: 4096), rate: rate)
    }

    @Test("prints what it was parsed from, whatever it says of the rules", arguments: [
        BoardReport.Rules?.none, .noFile, .omitted,
        .file(try PolicyDocument(json: Example.policy)),
    ])
    func inverse(rules: BoardReport.Rules?) throws {
        var told = try report(Example.report)
        #expect(told.json == Example.report)
        told.rules = rules
        #expect(try report(told.json) == told)
    }

    @Test("names what is malformed in it", arguments: [
        ("queue", "[]"), ("queue", #"{"messages":1}"#),
        ("queue", #"{"messages":-1,"bytes":0,"oldest":null}"#),
        ("queue", #"{"messages":1,"bytes":0,"oldest":"x"}"#),
        ("queue", #"{"messages":1,"bytes":0,"oldest":7,"oldestAge":-1}"#),
        ("lastForwarded", "-1"), ("lastForwarded", #""9""#),
        ("refused", "-1"), ("refused", "1.5"), ("refused", #""1""#), ("refusals", "{}"),
        ("refusals", "[7]"), ("refusals", #"[{"app":"Mad!","rule":"scope:1","count":1}]"#),
        ("refusals", #"[{"app":"mad","rule":"","count":1}]"#),
        ("refusals", #"[{"app":"mad","rule":"two words","count":1}]"#),
        ("refusals", #"[{"app":"mad","rule":"scope:1","count":0}]"#),
        ("policy", "[]"), ("policy", "7"), ("policy", #"{"default":"allow"}"#),
        ("policy", #"{"default":"perhaps","rules":[]}"#),
        ("policy", #"{"default":"allow","rules":[{"class":"A","allow":[]}]}"#),
        ("policy", #"{"default":"allow","rules":[{"class":"A","allow":[],"line":0}]}"#),
        ("policy", #"{"default":"allow","rules":[{"class":"A","allow":["read"],"line":1}]}"#),
        ("policy", #"{"default":"allow","rules":[{"class":"_User","allow":["create"],"line":1}]}"#),
        ("policy", #"{"default":"allow","rules":[{"class":"A","allow":[],"line":1,"burst":2}]}"#),
        ("policy", #"{"default":"allow","rules":[],"apps":{"Mad!":{}}}"#),
        ("run", "7"), ("run", #""x""#), ("identityShared", "1"),
        ("policyOmitted", "1"), ("policyOmitted", "true"), ("units", "null"), ("units", "[]"),
        ("units", #"{"Reading":{}}"#), ("units", #"{"a b":{"v":"W"}}"#),
        ("units", #"{"Reading":{"v":7}}"#), ("units", #"{"Reading":{"v":"{{ 1 }}"}}"#),
        ("units", #"{"Reading":{"v{":"W"}}"#), ("units", #"{"Reading":{"a..b":"W"}}"#),
        ("units", #"{"Reading":{"v":""}}"#), ("units", #"{"Reading":{"v":"12345678901234567"}}"#),
    ])
    func malformed(member: String, value: String) throws {
        var members = try #require(Example.report.asObject)
        members[member] = try JSONValue(parsing: Array(value.utf8))
        #expect(throws: WireError.self, "\(member): \(value)") {
            try BoardReport(json: JSONObject(members))
        }
    }

    @Test("has at most 64 refusals, and rules of at most 8 KiB")
    func bounds() throws {
        let entry: JSONValue = .object(["app": "a", "rule": "scope:1", "count": 1])
        for (count, isTaken) in [(64, true), (65, false)] {
            var members = try #require(Example.report.asObject)
            members["refusals"] = .array(Array(repeating: entry, count: count))
            let read = try? BoardReport(json: JSONObject(members))
            #expect((read != nil) == isTaken)
        }
        let many = policy((1...200).map { rule($0) })
        #expect(BoardReport.Rules(many) == .omitted)
        var members = try #require(Example.report.asObject)
        members["policy"] = .object([
            "default": "deny", "rules": .array([]),
            "comment": .string(String(repeating: "x", count: 8 * 1024)),
        ])
        #expect(throws: WireError.tooLarge(limit: 8 * 1024)) {
            try BoardReport(json: JSONObject(members))
        }
    }

    @Test("has units beside the rules, of at most 64 fields")
    func units() throws {
        let celsius = try #require(FieldUnit("°C"))
        func declared(_ count: Int) -> Policy {
            let units = (1...count).map { ("room.f\($0)", celsius) }
            return Policy(allowsByDefault: true, apps: [:], rules: [
                Rule(
                    id: .policy(line: 3), app: nil, className: ClassName("Reading"),
                    allow: [.create], fields: [:],
                    units: Dictionary(uniqueKeysWithValues: units), maxBytes: nil, rate: nil),
            ])
        }
        var told = try report(Example.report)
        (told.rules, told.units) = (.init(declared(64)), DeclaredUnits(declared(64)))
        #expect(told.units.byClass.values.first?.count == 64)
        #expect(try report(told.json) == told)
        // A reader that knows no units reads the same rules without them.
        guard case .file(let document)? = told.rules else { throw WireError.notJSON }
        #expect(!document.json.text.contains("°C"))
        #expect(DeclaredUnits(declared(65)) == .none)
        var members = try #require(told.json.asObject)
        members["policy"] = nil
        #expect(throws: WireError.mistyped("units")) {
            try BoardReport(json: JSONObject(members))
        }
        told.rules = nil
        #expect(told.json.asObject?["units"] == nil)
    }

    @Test("takes a field's unit from the first rule that names it, and none for any class")
    func order() throws {
        func rule(_ line: Int, _ name: String?, _ units: [String: String]) throws -> Rule {
            Rule(
                id: .policy(line: line), app: nil, className: name.flatMap { ClassName($0) },
                allow: [.create], fields: [:], units: units.compactMapValues { FieldUnit($0) },
                maxBytes: nil, rate: nil)
        }
        let units = DeclaredUnits(Policy(allowsByDefault: true, apps: [:], rules: [
            try rule(1, nil, ["any": "x"]), try rule(2, "Reading", ["a": "W"]),
            try rule(3, "Reading", ["a": "kW", "b": "V"]),
        ]))
        #expect(units.json == .object(["Reading": .object(["a": "W", "b": "V"])]))
    }

    @Test("that is malformed leaves the heartbeat as one without", arguments: [
        .null, "none", 7, .array([]), .object([:]), .object(["queue": .object([:])]),
    ] as [JSONValue])
    func ignored(value: JSONValue) throws {
        let json: JSONValue = .object([
            "type": "session.authenticate", "id": .string(Example.id), "iat": Example.time,
            "sessionToken": "r:abc", "durationMinutes": 60, "report": value,
        ])
        guard case .authenticate(let token, let minutes, let report) =
            try BoardMessage(parsing: json.bytes).body
        else { throw WireError.notJSON }
        #expect(token.reveal() == "r:abc" && minutes == 60 && report == nil)
    }

    @Test("tells rules that are judged as the board judges them")
    func policies() throws {
        let nested = FieldType(fields: [
            "lat": try FieldType("number(-90..90)"), "note": try FieldType("string(..64)?"),
        ], isOptional: true)
        let list = try FieldType.parse([
            "points?": .objects(["x": .type("integer")]), "tags": .type("array(enum(a|b), 1..8)?"),
        ])
        let whole = policy(
            [
                rule(3, fields: list.merging(["at": nested]) { $1 }),
                rule(9, nil, allow: [.create, .update, .delete], rate: try Rate("6/min")),
                rule(20, "_User", allow: [], rate: try Rate("10/s").with(burst: 50)),
                rule(31, fields: [:]),
            ],
            allowsByDefault: false,
            apps: [
                try #require(AppName("thermo")): AppLimit(
                    rate: try Rate("1/h"), maxBytes: ByteCount(bytes: 7)),
                try #require(AppName("door")): AppLimit(),
            ])
        let document = try #require(PolicyDocument(whole))
        #expect(document.policy == whole)
        let read = try PolicyDocument(json: document.json)
        #expect(read == document && read.policy == whole)
        #expect(read.policy.rules.map(\.id.description) == [
            "policy.toml:3", "policy.toml:9", "policy.toml:20", "policy.toml:31",
        ])
    }

    @Test("tells which apps take commands, and nothing more of them")
    func commands() throws {
        let heater = try #require(AppName("heater"))
        let rules = CommandRules(
            fields: ["celsius": try FieldType("number")], rate: try Rate("6/min"))
        let document = try #require(PolicyDocument(policy([], apps: [
            heater: AppLimit(maxBytes: ByteCount(bytes: 7), commands: rules)
        ])))
        #expect(document.json.asObject?["apps"] == .object([
            "heater": .object(["max_bytes": .integer(7), "commands": .bool(true)])
        ]))
        #expect(document.policy.apps[heater]?.commands == CommandRules())
        let off = try PolicyDocument(json: try JSONValue(parsing: Array(
            #"{"default":"deny","rules":[],"apps":{"heater":{"commands":false,"new":1}}}"#.utf8)))
        #expect(off.policy.apps[heater] == AppLimit())
    }

    @Test("tells rules as a scope has them, to whoever knows scopes alone")
    func scope() throws {
        let document = try #require(PolicyDocument(policy([rule(3)], allowsByDefault: false)))
        let scope = try Scope(ScopeDocument(unchecked: document.json))
        #expect(!scope.allowsByDefault)
        #expect(scope.rules.map(\.text) == [rule(3).text])
    }

    @Test("says that there are rules where they cannot be written")
    func unwritable() throws {
        #expect(BoardReport.Rules(policy([rule(0)])) == .omitted)
        #expect(BoardReport.Rules(nil) == .noFile)
    }
}
