import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("The policy for commands")
struct CommandPolicyTests {
    @Test("refuses unless the file allows them", arguments: [
        ("heater", nil), ("door", "refused 119 policy.toml:app.door"),
        ("stranger", "refused 119 builtin:command"), ("Heater", "refused 105 builtin:command"),
        ("", "refused 105 builtin:command"), ("a/b", "refused 105 builtin:command"),
    ] as [(String, String?)])
    func off(app: String, state: String?) throws {
        var board = try CommandBench([
            "heater": AppLimit(commands: CommandRules()), "door": AppLimit(),
        ])
        try board.send(app: app)
        #expect(board.states == (state.map { [$0] } ?? []))
        #expect(board.handed.count == (state == nil ? 1 : 0))
    }

    @Test("is off without a file, and with one that is lost")
    func noFile() throws {
        for isLost in [false, true] {
            var board = try CommandBench()
            board.bench.policy = nil
            if !isLost {
                try board.handle(.rules(nil, RouteTable()))
                try board.handle(.control(.acceptNoPolicy, connection: 1))
            }
            try board.restart()
            try board.send()
            #expect(board.states == ["refused 119 builtin:command"])
        }
    }

    @Test("judges the fields of a command", arguments: [
        (#"{"celsius":21}"#, nil), (#"{"celsius":31}"#, "refused 142 R celsius"),
        (#"{"celsius":"21"}"#, "refused 111 R celsius"), (#"{"other":1}"#, "refused 119 R other"),
        ("{}", "refused 142 R celsius"), ("21", "refused 111 R"),
        (#"{"celsius":21,"__op":"Delete"}"#, "refused 119 R __op"),
    ] as [(String, String?)])
    func fields(text: String, state: String?) throws {
        var board = try CommandBench([
            "heater": AppLimit(commands: CommandRules(
                fields: ["celsius": try FieldType("number(5..30)")])),
        ])
        try board.send(
            in: .seconds(60), try JSONValue(parsing: Array(text.utf8)))
        #expect(board.states.map {
            $0.replacing("policy.toml:app.heater", with: "R")
        } == (state.map { [$0] } ?? []))
    }

    @Test("nothing goes on beyond the rate, which is one a second by default beside that of writes")
    func rate() throws {
        var board = try CommandBench([
            "heater": AppLimit(rate: try Rate("1/h"), commands: CommandRules()),
        ])
        try board.handle(.bus([.write("heater", "create/Reading", "1")]))
        try board.send()
        #expect(board.handed.count == 1)
        let id = try board.send()
        #expect(board.handed.isEmpty && board.states.isEmpty)
        #expect(try board.kept == 1)
        board.bench.pass(.seconds(1))
        try board.send(id)
        #expect(board.handed.map(\.id) == [id])
    }

    @Test("keeps the id of one whose deadline is before the rate's turn: it stays refused")
    func staysRefused() throws {
        var board = try CommandBench([
            "heater": AppLimit(commands: CommandRules(rate: try Rate("1/min"))),
        ])
        try board.send()
        let id = try board.send()
        board.bench.pass(.seconds(10))
        try board.restart()
        #expect(board.states == ["refused 155 policy.toml:app.heater"])
        try board.confirm()
        try board.send(id)
        #expect(board.states == ["refused 155 policy.toml:app.heater"] && board.handed.isEmpty)
    }

    @Test("changes with the file")
    func reload() throws {
        var board = try CommandBench([:])
        try board.send()
        #expect(board.states == ["refused 119 builtin:command"])
        let heater = try #require(AppName("heater"))
        let limit = AppLimit(commands: CommandRules(rate: try Rate("1/h")))
        try board.handle(.rules(
            Policy(allowsByDefault: true, apps: [heater: limit], rules: []), RouteTable()))
        try board.send()
        #expect(board.handed.count == 1)
        try board.send()
        #expect(board.states == ["refused 155 policy.toml:app.heater"])
        let looser = AppLimit(commands: CommandRules(rate: try Rate("9/s")))
        try board.handle(.rules(
            Policy(allowsByDefault: true, apps: [heater: looser], rules: []), RouteTable()))
        board.bench.pass(.seconds(1))
        try board.send()
        #expect(board.handed.count == 1)
    }
}
