import AuthorityCore
import NIOHTTP1
import Sessions
import Testing
import Wire

@Suite("Routes of commands")
struct CommandRouteTests {
    private static let path = "/postern/v1/boards/\(StubFrontend.iid)/commands"

    @Test("take any JSON value, with a deadline of 60 s unless asked otherwise", arguments: [
        (#"{"app":"heater","command":{"celsius":21}}"#, #"{"celsius":21}, 60 s"#),
        (#"{"app":"heater","command":null,"deadlineSeconds":1}"#, "null, 1 s"),
        (#"{"app":"heater","command":[1,"a"],"deadlineSeconds":86400}"#, #"[1,"a"], 86400 s"#),
    ])
    func send(body: String, call: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, Self.path, body)
            #expect(reply.status == 201)
            #expect(reply.text == #"{"app":"heater","createdAt":1700000000,"#
                + #""deadline":1700000060,"delivered":false,"#
                + #""id":"\#(StubFrontend.commandID)","state":"waiting","#
                + #""uncertain":false,"user":"alice"}"#)
            #expect(await console.frontend.calls == ["send heater \(call)"])
        }
    }

    @Test("refuse what no command can be, and ask nobody", arguments: [
        (#"{"app":"heater"}"#, 142), (#"{"command":1}"#, 142),
        (#"{"app":"Heater","command":1}"#, 105), (#"{"app":"a/b","command":1}"#, 105),
        (#"{"app":1,"command":1}"#, 111),
        (#"{"app":"heater","command":1,"deadlineSeconds":0}"#, 142),
        (#"{"app":"heater","command":1,"deadlineSeconds":86401}"#, 142),
        (#"{"app":"heater","command":1,"deadlineSeconds":"60"}"#, 111), ("[1]", 107), ("", 107),
    ])
    func malformed(body: String, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, Self.path, body)
            #expect(reply.status == 400 && reply.code == code)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("read no body that is longer than a command with what is around it")
    func tooLong() async throws {
        try await RunningConsole.with { console in
            let text = String(repeating: "a", count: 20 * 1024)
            let reply = try await console.send(
                .POST, Self.path, #"{"app":"heater","command":"\#(text)"}"#)
            #expect(reply.status == 413)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("list commands without their texts, and show one with all of it")
    func shown() async throws {
        try await RunningConsole.with { console in
            let list = try await console.send(.GET, Self.path)
            let entry = list.json?.members["commands"]?.asArray?.first?.asObject ?? [:]
            #expect(entry["state"] == .string("answered") && entry["delivered"] == .bool(true))
            #expect(entry["command"] == nil && entry["answer"] == nil)
            let one = "\(Self.path)/\(StubFrontend.commandID)"
            let answered = try await console.send(.GET, one)
            #expect(answered.json?.members["command"]?.text == #"{"celsius":21}"#)
            #expect(answered.json?.members["answer"]?.text == #"{"ok":true}"#)
            await console.frontend.endCommands(as: .refused)
            let refused = try await console.send(.GET, one)
            #expect(refused.json?.members["error"]?.text == #"{"code":142,"#
                + #""error":"the number must be at most 30","field":"celsius","#
                + #""rule":"policy.toml:app.heater"}"#)
            #expect(refused.json?.members["answer"] == nil)
            let other = "\(Self.path)/\(StubFrontend.claimID)"
            #expect(try await console.send(.GET, other).status == 404)
            #expect(try await console.send(.GET, "\(Self.path)/x").status == 404)
        }
    }
}
