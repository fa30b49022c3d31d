import AuthorityCore
import Gate
import Sessions
import Testing
import Wire

struct ExplainedWrite: Sendable {
    let operation: Operation
    let className: String
    let bytes: Int

    init(_ operation: Operation, _ className: String, _ bytes: Int) {
        self.operation = operation
        self.className = className
        self.bytes = bytes
    }
}

@Suite("Explain", .everyStore)
struct ExplainTests {
    private func order(
        _ live: LiveBoard, _ operation: Operation = .create, _ className: String = "Reading",
        bytes: Int = 2
    ) throws -> ExplainOrder {
        ExplainOrder(
            board: live.board.installation,
            write: NamedWrite(
                app: try #require(AppName("thermo")),
                className: try #require(ClassName(className)), operation: operation),
            payload: Array(repeating: UInt8(ascii: " "), count: bytes))
    }

    private func scope(_ text: String) throws -> ScopeDocument {
        ScopeDocument(unchecked: try JSONValue(parsing: Array(text.utf8)))
    }

    private func words(_ explanation: Explanation) -> [String] {
        explanation.verdicts.map { verdict in
            "\(verdict.layer.rawValue) " + (verdict.decision.map(Self.word) ?? "-")
        } + [Self.word(explanation.decision)]
    }

    private static func word(_ decision: Decision) -> String {
        switch decision {
        case .allow(let rule): "allow \(rule)"
        case .deny(let rejection): "deny \(rejection.rule) \(rejection.code.rawValue)"
        }
    }

    @Test("asks the scope in force and the board's rules as it told them")
    func layers() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(
            BoardDouble(), by: ada, scope: scope(
                #"{"default":"deny","rules":[{"class":"Reading","allow":["create","update"]}]}"#))
        _ = try await live.tell(.sample(0, rules: .readings(upTo: 9)))
        let expected: [(ExplainedWrite, [String])] = [
            (.init(.create, "Reading", 9), [
                "builtin allow builtin:allowed", "scope allow scope:1",
                "policy allow policy.toml:10", "allow policy.toml:10",
            ]),
            (.init(.update, "Reading", 9), [
                "builtin allow builtin:allowed", "scope allow scope:1",
                "policy deny policy.toml:10 119", "deny policy.toml:10 119",
            ]),
            (.init(.create, "Reading", 10), [
                "builtin allow builtin:allowed", "scope allow scope:1",
                "policy deny policy.toml:10 116", "deny policy.toml:10 116",
            ]),
            (.init(.create, "Door", 1), [
                "builtin allow builtin:allowed", "scope deny scope:default 119",
                "policy deny policy.toml:default 119", "deny scope:default 119",
            ]),
            (.init(.create, "_Role", 1), [
                "builtin deny builtin:protected-class 119", "scope deny scope:default 119",
                "policy deny policy.toml:default 119", "deny builtin:protected-class 119",
            ]),
        ]
        for (asked, told) in expected {
            let explanation = try await house.authority.explain(
                try order(live, asked.operation, asked.className, bytes: asked.bytes), by: ada)
            #expect(words(explanation) == told)
            #expect(explanation.knowsPolicy && !explanation.reason.isEmpty)
            #expect(explanation.verdicts.allSatisfy { !$0.reason.isEmpty })
        }
    }

    @Test("says what it does not know, and what is not there")
    func unknown() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        for (rules, isKnown) in [
            (nil, false), (.omitted, false), (.noFile, true),
        ] as [(BoardReport.Rules?, Bool)] {
            _ = try await live.tell(.sample(0, rules: rules))
            let explanation = try await house.authority.explain(try order(live), by: ada)
            #expect(words(explanation) == [
                "builtin allow builtin:allowed", "scope -", "policy -", "allow builtin:allowed",
            ])
            #expect(explanation.knowsPolicy == isKnown)
        }
        try await house.authority.revoke(live.session, by: ada)
        #expect(words(try await house.authority.explain(try order(live), by: ada)) == [
            "builtin deny builtin:session 209", "scope -", "policy -",
            "deny builtin:session 209",
        ])
    }

    @Test("tells the limit of an app as the policy's word")
    func appLimit() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let thermo = try #require(AppName("thermo"))
        _ = try await live.tell(.sample(0, rules: .init(Policy(
            allowsByDefault: true, apps: [thermo: AppLimit(maxBytes: ByteCount(bytes: 4))],
            rules: []))))
        #expect(words(try await house.authority.explain(try order(live, bytes: 5), by: ada)) == [
            "builtin allow builtin:allowed", "scope -",
            "policy deny policy.toml:app.thermo 116", "deny policy.toml:app.thermo 116",
        ])
    }

    @Test("is for the board's owner and administrators, and has a bound")
    func callers() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let eve = try await house.addUser("eve")
        let live = try await house.provisioned(BoardDouble(), by: bob)
        let asked = try order(live)
        for caller in [ada, bob] {
            #expect(try await house.authority.explain(asked, by: caller).verdicts.count == 3)
        }
        await expectRefusal(.notFound) { try await house.authority.explain(asked, by: eve) }
        let device = try await house.device(by: bob)
        await expectRefusal(.notFound) {
            try await house.authority.explain(asked, by: device.caller)
        }
        let large = try order(live, bytes: 64 * 1024 + 1)
        await expectRefusal(.tooLarge) { try await house.authority.explain(large, by: bob) }
        try await house.authority.release(live.board.installation, by: bob)
        await expectRefusal(.notFound) { try await house.authority.explain(asked, by: bob) }
    }
}
