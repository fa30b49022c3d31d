import Gate
import Sessions
import Testing

/// A rule in few words, for tables.
func rule(
    _ line: Int, app: String? = nil, _ className: String, _ allow: Set<GateOperation>,
    fields: [String: String]? = nil, maxBytes: Int64? = nil, rate: String? = nil
) throws -> Rule {
    let name = ClassName(className)
    try #require(name != nil || className == "*")
    return Rule(
        id: .policy(line: line), app: try app.map { try #require(AppName($0)) },
        className: name, allow: allow,
        fields: try fields?.mapValues { try FieldType($0) },
        maxBytes: maxBytes.map { ByteCount(bytes: $0) }, rate: try rate.map { try Rate($0) })
}

func policy(
    deny: Bool = false, apps: [String: AppLimit] = [:], _ rules: [Rule]
) throws -> Policy {
    var limits: [AppName: AppLimit] = [:]
    for (name, limit) in apps { limits[try #require(AppName(name))] = limit }
    return Policy(allowsByDefault: !deny, apps: limits, rules: rules)
}

func write(
    _ app: String, _ operation: GateOperation, _ className: String, _ payload: String = "{}"
) throws -> Write {
    Write(
        app: try #require(AppName(app)), className: try #require(ClassName(className)),
        operation: operation, payload: Array(payload.utf8))
}

/// `ok RULE` or `CODE RULE FIELD`, as the tables spell it.
func text(_ decision: Decision) -> String {
    switch decision {
    case .allow(let rule): "ok \(rule)"
    case .deny(let rejection):
        "\(rejection.code.rawValue) \(rejection.rule)" + (rejection.field.map { " \($0)" } ?? "")
    }
}

@Suite("Gate")
struct DecisionTests {
    private func sample() throws -> Policy {
        try policy(apps: ["thermo": AppLimit(maxBytes: ByteCount(bytes: 16))], [
            rule(10, app: "door", "Reading", []),
            rule(14, "Reading", [.create], maxBytes: 12),
            rule(20, app: "admin", "*", [.create, .update, .delete]),
            rule(30, "Log", [.create, .delete]),
            rule(40, "Reading", [.create, .update, .delete]),
        ])
    }

    @Test("lets the first rule for app and class decide", arguments: [
        ("door", GateOperation.create, "Reading", "{}", "119 policy.toml:10"),
        ("thermo", .create, "Reading", "{}", "ok policy.toml:14"),
        ("thermo", .update, "Reading", "{}", "119 policy.toml:14"),
        ("thermo", .create, "Reading", "0123456789abc", "116 policy.toml:14"),
        ("admin", .update, "Reading", "{}", "119 policy.toml:14"),
        ("admin", .delete, "Log", "{}", "ok policy.toml:20"),
        ("thermo", .delete, "Log", "", "ok policy.toml:30"),
        ("thermo", .update, "Log", "", "119 policy.toml:30"),
        ("thermo", .create, "Other", "", "ok policy.toml:default"),
        ("thermo", .create, "Other", "0123456789abcdefg", "116 policy.toml:app.thermo"),
        ("admin", .create, "Other", "0123456789abcdefg", "ok policy.toml:20"),
        ("admin", .create, "_User", "{}", "119 builtin:protected-class"),
        ("admin", .delete, "_Installation", "{}", "119 builtin:reserved-class"),
    ])
    func firstMatch(
        app: String, operation: GateOperation, className: String, payload: String,
        expected: String
    ) throws {
        let gate = Gate(policy: try sample(), scope: nil)
        #expect(text(gate.decide(try write(app, operation, className, payload))) == expected)
    }

    @Test("denies by default where the policy says so")
    func defaultDeny() throws {
        let gate = Gate(policy: try policy(deny: true, [rule(3, "A", [.create])]), scope: nil)
        #expect(text(gate.decide(try write("x", .create, "A"))) == "ok policy.toml:3")
        #expect(text(gate.decide(try write("x", .create, "B"))) == "119 policy.toml:default")
    }

    @Test("takes the intersection of scope and policy")
    func intersection() throws {
        let scope = Scope(
            allowsByDefault: false,
            rules: [Rule(
                id: .scope(1), app: nil, className: ClassName("Reading"),
                allow: [.create, .update], fields: nil, maxBytes: nil, rate: nil)],
            topics: [])
        let gate = Gate(policy: try sample(), scope: scope)
        #expect(text(gate.decide(try write("thermo", .create, "Reading"))) == "ok policy.toml:14")
        #expect(text(gate.decide(try write("thermo", .update, "Reading"))) == "119 policy.toml:14")
        #expect(text(gate.decide(try write("thermo", .delete, "Reading"))) == "119 scope:1")
        #expect(text(gate.decide(try write("admin", .create, "Log"))) == "119 scope:default")
        let alone = Gate(policy: nil, scope: scope)
        #expect(text(alone.decide(try write("admin", .create, "Reading"))) == "ok scope:1")
    }

    @Test("refuses more than 256 KiB under any rule")
    func payloadLimit() throws {
        let gate = Gate(
            policy: try policy([rule(1, "*", [.create], maxBytes: 1 << 30)]), scope: nil)
        let most = String(repeating: "a", count: 256 * 1024)
        #expect(text(gate.decide(try write("a", .create, "A", most))) == "ok policy.toml:1")
        #expect(
            text(gate.decide(try write("a", .create, "A", most + "a")))
                == "116 builtin:payload-size")
    }

    @Test("explains each layer, the last being what counts")
    func explanation() throws {
        let gate = Gate(policy: try sample(), scope: nil)
        let verdicts = gate.explain(try write("thermo", .update, "Reading"))
        #expect(verdicts.map(\.layer) == [
            "built-in", "scope", "app limit", "policy.toml", "effective",
        ])
        #expect(verdicts.map { $0.decision.map(text) ?? "absent" } == [
            "ok builtin:allowed", "absent", "ok policy.toml:app.thermo", "119 policy.toml:14",
            "119 policy.toml:14",
        ])
        #expect(verdicts.map { $0.says ?? "" } == [
            "", "", "max_bytes 16", "any app, class Reading; allow create; max_bytes 12", "",
        ])
    }

    @Test("says what a rule says, on one line")
    func ruleText() throws {
        let full = try rule(
            3, app: "thermo", "*", [.create, .update], fields: ["b": "string?", "a": "number"],
            maxBytes: 4096, rate: "6/min")
        #expect(full.text == """
            app thermo, any class; allow create, update; fields { a = number, b = string? }; \
            max_bytes 4 KiB; rate 6/min
            """)
        #expect(try rule(3, "A", []).text == "any app, class A; allow nothing")
    }

    @Test("explains an app's own limit by itself")
    func explainsAppLimit() throws {
        let gate = Gate(policy: try sample(), scope: nil)
        let verdicts = gate.explain(try write("thermo", .create, "Other", "0123456789abcdefg"))
        #expect(verdicts[2].decision.map(text) == "116 policy.toml:app.thermo")
    }

    @Test("says to people what to change")
    func reasons() throws {
        let gate = Gate(policy: try sample(), scope: nil)
        guard case .deny(let rejection) = gate.decide(try write("thermo", .update, "Reading"))
        else {
            Issue.record("allowed")
            return
        }
        #expect(rejection.reason == "update is not allowed on this class; allowed: create")
    }
}
