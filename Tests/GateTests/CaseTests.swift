import Gate
import Sessions
import Testing

@Suite("Policy case")
struct CaseTests {
    private func decision(_ payload: String) throws -> Decision {
        let gate = Gate(
            policy: try policy([rule(8, "A", [.create], fields: ["v": "number(0..9)"])]),
            scope: nil)
        return gate.decide(try write("a", .create, "A", payload))
    }

    @Test("compares what is expected, and nothing that is not", arguments: [
        ("{\"v\":1}", PolicyCase.Expectation(allows: true), true),
        ("{\"v\":1}", .init(allows: true, rule: "policy.toml:8"), true),
        ("{\"v\":1}", .init(allows: true, rule: "policy.toml:9"), false),
        ("{\"v\":1}", .init(allows: false), false),
        ("{\"v\":10}", .init(allows: true), false),
        ("{\"v\":10}", .init(allows: false), true),
        ("{\"v\":10}", .init(allows: false, rule: "policy.toml:8", code: 142, field: "v"), true),
        ("{\"v\":10}", .init(allows: false, rule: "scope:1"), false),
        ("{\"v\":10}", .init(allows: false, code: 111), false),
        ("{\"v\":10}", .init(allows: false, field: "w"), false),
        ("[]", .init(allows: false, field: ""), true),
        ("[]", .init(allows: false, field: "v"), false),
    ])
    func agreement(payload: String, expected: PolicyCase.Expectation, agrees: Bool) throws {
        #expect(expected.agrees(with: try decision(payload)) == agrees)
    }

    @Test("tells the expected and the found in the same words")
    func words() throws {
        #expect(try decision("{\"v\":10}").description == "deny 142 policy.toml:8 v")
        #expect(try decision("{\"v\":1}").description == "allow policy.toml:8")
        #expect(PolicyCase.Expectation(
            allows: false, rule: "policy.toml:8", code: 142, field: "v"
        ).description == "deny 142 policy.toml:8 v")
    }
}
