import Gate
import Sessions
import Testing

/// `14 unreachable-rule`, as the tables spell a finding; a route's line has `route` before it.
private func text(_ finding: PolicyFinding) -> String {
    switch finding.place {
    case .policy(let line): "\(line) \(finding.kind.rawValue)"
    case .route(let line): "route \(line) \(finding.kind.rawValue)"
    }
}

private func scope(deny: Bool = true, _ rules: [Rule]) -> Scope {
    Scope(
        allowsByDefault: !deny,
        rules: rules.enumerated().map { index, rule in
            Rule(
                id: .scope(index + 1), app: rule.app, className: rule.className,
                allow: rule.allow, fields: rule.fields, maxBytes: rule.maxBytes, rate: nil)
        }, topics: [])
}

@Suite("Policy lint")
struct LintTests {
    private func lint(
        _ policy: Policy, scope: Scope? = nil, routes: [Route] = [], seen: [String] = []
    ) -> [String] {
        PolicyLint(
            policy: policy, scope: scope, routes: routes,
            seenClasses: Set(seen.compactMap { ClassName($0) })
        ).findings.map(text)
    }

    @Test("finds a rule behind one that is as wide or wider, and no other", arguments: [
        ("a", "A", "a", "A", true), (nil, "A", "a", "A", true), ("a", "*", "a", "A", true),
        (nil, "*", "a", "A", true), (nil, "*", nil, "A", true), (nil, "*", "a", "*", true),
        (nil, "A", nil, "A", true), ("a", "A", nil, "A", false), ("a", "A", "a", "*", false),
        ("a", "A", "b", "A", false), ("a", "A", "a", "B", false), ("a", "*", nil, "A", false),
        (nil, "A", "a", "*", false),
    ] as [(String?, String, String?, String, Bool)])
    func unreachable(
        app: String?, name: String, laterApp: String?, laterName: String, isFound: Bool
    ) throws {
        let found = lint(try policy([
            rule(3, app: app, name, [.create]), rule(9, app: laterApp, laterName, [.delete]),
        ]))
        #expect(found == (isFound ? ["9 unreachable-rule"] : []))
    }

    @Test("names the first line that takes the writes, and what it is for")
    func earlierLine() throws {
        let finding = PolicyLint(policy: try policy([
            rule(3, "Other", []), rule(5, "*", [.create]), rule(9, "*", []), rule(12, "Log", []),
        ])).findings
        #expect(finding.map(text) == ["9 unreachable-rule", "12 unreachable-rule"])
        #expect(finding.allSatisfy { $0.text.contains("line 5, for any app, any class") })
    }

    @Test("says what to do with a rule behind one of the same app and class", arguments: [
        ([.create], [.update], "add update to allow of that rule, or drop this rule"),
        ([.create], [.delete, .update, .create], "add update, delete to allow of that"),
        ([.create, .update], [.update], "takes them all; drop this rule"),
        ([], [.create], "add create to allow of that rule, or drop this rule"),
        ([.create], [], "takes them all; drop this rule"),
    ] as [(Set<GateOperation>, Set<GateOperation>, String)])
    func sameSubject(
        first: Set<GateOperation>, second: Set<GateOperation>, advice: String
    ) throws {
        let findings = PolicyLint(policy: try policy([
            rule(3, app: "a", "A", first), rule(9, app: "a", "A", second),
        ])).findings
        #expect(findings.map(text) == ["9 unreachable-rule"])
        #expect(findings.first?.text.contains(advice) == true)
        let wider = PolicyLint(policy: try policy([
            rule(3, "*", first), rule(9, app: "a", "A", second),
        ])).findings
        #expect(wider.first?.text.hasSuffix("put this rule first, or drop it") == true)
    }

    @Test("finds a class that is likely mistyped", arguments: [
        (["Reading", "Reading", "Readng"], [], ["3 class-typo"]),
        (["Readng", "Reading", "Reading"], [], ["1 class-typo"]),
        (["Readng"], ["Reading"], ["1 class-typo"]),
        (["reading"], ["Reading"], ["1 class-typo"]),
        (["Reading"], ["Reading", "Readng"], []),
        // Of two that are named once each, the first is taken for right.
        (["Reading", "Readings"], [], ["2 class-typo"]),
        (["Temperature", "Tempratures"], [], ["2 class-typo"]),
        (["Reading", "Heating"], [], []), (["Door", "Dosr"], [], ["2 class-typo"]),
        // A series, and names too short to tell.
        (["Door1", "Door2", "Door33"], [], []), (["Lux", "Lax"], [], []),
        (["Lux", "LUX"], [], ["2 class-typo"]),
        // Neighbours exchanged, alone and beside another edit.
        (["Reading", "Raeding"], [], ["2 class-typo"]), (["Door", "Doro"], [], ["2 class-typo"]),
        (["Temperature", "Tepmeratur"], [], ["2 class-typo"]),
        // A digit where a letter was meant, and a letter amiss in a series.
        (["Reading", "Read1ng"], [], ["2 class-typo"]),
        (["Sensor1", "Sensor2", "Senosr2"], [], ["3 class-typo"]),
        (["Temperature1", "Temperatur2"], [], ["2 class-typo"]),
    ] as [([String], [String], [String])])
    func classTypos(rules: [String], seen: [String], expected: [String]) throws {
        // One app each, so that no rule hides another.
        let list = try rules.enumerated().map { index, name in
            try rule(index + 1, app: "app-\(index)", name, [.create])
        }
        #expect(lint(try policy(list), seen: seen) == expected)
    }

    @Test("finds a system class without its line, or in other letters", arguments: [
        ("User", ["1 system-class"]), ("session", ["1 system-class"]),
        ("ROLE", ["1 system-class"]), ("Installation", ["1 system-class"]),
        ("_user", ["1 closed-class", "1 system-class"]), ("_User", ["1 closed-class"]),
        ("_Join", ["1 closed-class"]), ("Users", []), ("UserData", []), ("Product", []),
    ])
    func systemClasses(name: String, expected: [String]) throws {
        #expect(lint(try policy([rule(1, name, [])])) == expected)
        #expect(lint(try policy([rule(1, name, [])]), seen: [name]) == expected.filter {
            $0.contains("closed")
        })
    }

    private static func letters(_ number: Int) -> String {
        [676, 26, 1].map { String(UnicodeScalar(UInt8(97 + number / $0 % 26))) }.joined()
    }

    @Test("comes to an end with ten thousand rules", arguments: [
        (10_000, ["C"], false, false), (10_000, ["Sensor", "Senosr"], false, true),
        (3000, ["C"], true, true), (10_000, ["Sensor"], true, true),
    ])
    func manyRules(count: Int, stems: [String], areLetters: Bool, isFound: Bool) throws {
        func name(_ number: Int) -> String {
            stems[number % stems.count] + (areLetters ? Self.letters(number) : "\(number)")
        }
        let rules = try (0..<count).map { try rule($0 + 1, app: "a\($0)", name($0), [.create]) }
        let scope = Scope(
            allowsByDefault: true,
            rules: (1...100).map { number in
                Rule(
                    id: .scope(number), app: nil,
                    className: ClassName("Other\(number)"), allow: [],
                    fields: nil, maxBytes: nil, rate: nil)
            }, topics: [])
        let findings = PolicyLint(policy: try policy(rules), scope: scope).findings
        #expect(findings.allSatisfy { $0.kind == .classTypo })
        #expect(findings.isEmpty != isFound)
    }

    @Test("finds an app that is likely mistyped, in a rule or under [app]")
    func appTypos() throws {
        let limits = ["thermo": AppLimit(maxBytes: nil), "vitals": AppLimit(maxBytes: nil)]
        let rules = [
            try rule(10, app: "thermo", "A", [.create]),
            try rule(20, app: "termo", "B", [.create]),
            try rule(30, app: "vitals", "C", [.create]),
        ]
        #expect(lint(try policy(apps: limits, rules)) == ["20 app-typo"])
        let app = try #require(AppName("vitas"))
        let policy = Policy(
            allowsByDefault: true, apps: [app: AppLimit(maxBytes: nil)],
            rules: [try rule(1, app: "vitals", "A", [])])
        let findings = PolicyLint(policy: policy, appLines: [app: 7]).findings
        #expect(findings.map(text) == ["7 app-typo"])
        #expect(findings.first?.rule == .policyApp(app))
    }

    @Test("finds what the scope refuses to each write of a rule", arguments: [
        ("a", "A", GateOperation.create, false), ("a", "A", .update, true),
        ("a", "A", .delete, true), ("b", "A", .create, true), ("b", "A", .update, false),
        (nil, "A", .create, false), (nil, "A", .update, false), (nil, "A", .delete, true),
        ("a", "Other", .create, true), (nil, "*", .create, false), (nil, "*", .delete, true),
        ("a", "*", .update, true),
    ] as [(String?, String, GateOperation, Bool)])
    func scopeForbids(app: String?, name: String, operation: GateOperation, isFound: Bool) throws {
        let scope = scope([
            try rule(1, app: "a", "A", [.create]), try rule(2, "A", [.update]),
        ])
        let found = lint(try policy([rule(4, app: app, name, [operation])]), scope: scope)
        #expect(found == (isFound ? ["4 scope-forbids"] : []))
    }

    @Test("names the scope's rules, and only the operations that they refuse")
    func scopeText() throws {
        let findings = PolicyLint(
            policy: try policy([rule(4, "A", [.create, .update, .delete])]),
            scope: scope([try rule(1, "A", [.create])])
        ).findings
        #expect(findings.first?.text.hasPrefix(
            "allows update, delete, which the session's scope refuses (scope:1)") == true)
    }

    @Test("says nothing of a scope that allows by default")
    func openScope() throws {
        let scope = scope(deny: false, [try rule(1, "B", [])])
        #expect(lint(try policy([rule(4, "A", [.create])]), scope: scope).isEmpty)
        #expect(lint(try policy([rule(4, "B", [.create])]), scope: scope) == ["4 scope-forbids"])
    }

    @Test("finds a size above what scope, app or program let pass", arguments: [
        ("a", "A", 100, []), ("a", "A", 101, ["4 size-not-reached"]),
        ("b", "B", 51, ["4 size-not-reached"]), ("b", "B", 50, []), (nil, "B", 51, []),
        (nil, "A", 262_144, []), (nil, "A", 262_145, ["4 size-not-reached"]),
    ] as [(String?, String, Int64, [String])])
    func sizes(app: String?, name: String, size: Int64, expected: [String]) throws {
        let scope = scope(deny: false, [try rule(1, app: "a", "A", [.create], maxBytes: 100)])
        let policy = try policy(apps: ["b": AppLimit(maxBytes: ByteCount(bytes: 50))], [
            rule(4, app: app, name, [.create], maxBytes: size),
        ])
        #expect(lint(policy, scope: scope) == expected)
    }

    @Test("finds limits on what is not allowed at all")
    func noEffect() throws {
        let rules = [
            try rule(1, "A", []), try rule(2, "B", [], fields: [:]),
            try rule(3, "C", [], maxBytes: 9), try rule(4, "D", [], rate: "1/s"),
        ]
        #expect(lint(try policy(rules)) == ["2 no-effect", "3 no-effect", "4 no-effect"])
    }

    @Test("finds a route that nothing lets in, whatever the payload")
    func routes() throws {
        func route(_ line: Int, _ app: String, _ name: String) throws -> Route {
            Route(
                line: line, from: try #require(TopicFilter("x\(line)/+")),
                app: try #require(AppName(app)), className: try #require(ClassName(name)),
                operation: .create)
        }
        let policy = try policy(deny: true, [
            rule(4, app: "zigbee", "Reading", [.create], fields: ["v": "number"], maxBytes: 1),
            rule(9, "Light", [.delete]),
        ])
        let routes = [
            try route(20, "zigbee", "Reading"), try route(30, "zigbee", "Light"),
            try route(40, "other", "Reading"),
        ]
        let findings = PolicyLint(policy: policy, routes: routes).findings
        #expect(findings.map(text) == ["route 30 route-refused", "route 40 route-refused"])
        #expect(findings.map(\.rule.description) == ["policy.toml:9", "policy.toml:default"])
    }

    @Test("finds a route whose topics the scope never grants", arguments: [
        ("home/{1}/energy", [], true), ("home/{1}/energy", ["home/+/energy"], false),
        ("home/{1}/energy", ["home/#"], false), ("home/{1}/energy", ["home/hall/energy"], false),
        ("home/{1}/energy", ["home/+/power", "house/#"], true),
        ("home/x{1}/energy", ["home/xa/energy"], false), ("home/{1}", ["home"], true),
        ("home/{2}", ["home/a/b/c"], false), ("home/{2}/x", ["home/a/b/c"], false),
        ("{1}/x", ["home/x"], false), ("house/{2}", ["home/a/b/c"], true),
        ("{data}/{1}", [], false), (nil, [], false),
    ] as [(String?, [String], Bool)])
    func grants(to: String?, topics: [String], isFound: Bool) throws {
        let routes = [try route("meters/+/#", "Energy", to: to, line: 20)]
        let scope = Scope(
            allowsByDefault: true, rules: [], topics: topics.compactMap(TopicFilter.init))
        let findings = PolicyLint(policy: try policy([]), scope: scope, routes: routes).findings
        #expect(findings.map(text) == (isFound ? ["route 20 route-refused"] : []))
        #expect(findings.allSatisfy { $0.rule == .scopeTopics })
        #expect(findings.allSatisfy { $0.text.contains(" leads to \(to ?? ""), ") })
        // A scope that is not known refuses nothing.
        #expect(lint(try policy([]), routes: routes).isEmpty)
    }

    @Test("finds nothing in what is plain")
    func clean() throws {
        #expect(lint(try policy([])).isEmpty)
        #expect(lint(try policy(deny: true, apps: ["thermo": AppLimit(maxBytes: nil)], [
            rule(5, app: "thermo", "Reading", [.create], fields: ["c": "number"], maxBytes: 9),
            rule(9, "Reading", [.update]), rule(12, "*", []),
        ])).isEmpty)
    }
}
