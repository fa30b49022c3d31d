import Gate
import Sessions
import Testing

@Suite("Decisions about commands")
struct CommandDecisionTests {
    private func decide(
        _ limit: AppLimit?, scope: Scope? = nil, _ content: String = "{}"
    ) throws -> String {
        let heater = try #require(AppName("heater"))
        let policy = try policy(deny: true, apps: limit.map { ["heater": $0] } ?? [:], [])
        return text(Gate(policy: policy, scope: scope)
            .decide(command: Array(content.utf8), to: heater))
    }

    @Test("need the app's own line in the policy file")
    func off() throws {
        #expect(try decide(nil) == "119 builtin:command")
        #expect(try decide(AppLimit()) == "119 policy.toml:app.heater")
        #expect(try decide(AppLimit(commands: CommandRules())) == "ok policy.toml:app.heater")
        let heater = try #require(AppName("heater"))
        #expect(text(Gate(policy: nil, scope: nil).decide(command: [], to: heater))
            == "119 builtin:command")
    }

    @Test("do not ask the scope, the default or the rules")
    func layers() throws {
        let closed = Scope(allowsByDefault: false, rules: [], topics: [])
        #expect(try decide(AppLimit(commands: CommandRules()), scope: closed)
            == "ok policy.toml:app.heater")
        let open = Scope(allowsByDefault: true, rules: [], topics: [])
        #expect(try decide(AppLimit(), scope: open) == "119 policy.toml:app.heater")
    }

    @Test("read any JSON without fields, and a whole object with them", arguments: [
        ("{\"a\":1}", nil), ("{}", "142 policy.toml:app.heater a"),
        ("{\"a\":\"1\"}", "111 policy.toml:app.heater a"), ("1", "111 policy.toml:app.heater"),
        ("{\"a\":1,\"ACL\":{}}", "119 policy.toml:app.heater ACL"),
        ("{\"a\":1,\"a\":2}", "107 policy.toml:app.heater a"),
    ] as [(String, String?)])
    func fields(content: String, refusal: String?) throws {
        let rules = CommandRules(fields: ["a": try FieldType("number")])
        #expect(try decide(AppLimit(commands: rules), content)
            == refusal ?? "ok policy.toml:app.heater")
        #expect(try decide(AppLimit(commands: CommandRules()), content)
            == "ok policy.toml:app.heater")
    }
}
