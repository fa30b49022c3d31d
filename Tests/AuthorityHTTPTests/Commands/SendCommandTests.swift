import AuthorityCore
import Sessions
import Testing

@Suite("postern send")
struct SendCommandTests {
    private static let sent = "! ✓ sealed and sent to greenhouse (\(StubFrontend.iid)) "
        + "as \(StubFrontend.commandID)"

    @Test("shows each step, and the answer as its result")
    func answered() async throws {
        try await Person.loggedIn { person in
            #expect(await person.types(#"send greenhouse heater {"celsius":21}"#) == """
                \(Self.sent)
                ! ✓ delivered to heater
                ! ✓ answered
                {"ok":true}
                [0]
                """)
            let calls = await person.console.frontend.calls
            #expect(calls.suffix(2) == [#"send heater {"celsius":21}, 60 s"#, "command"])
            #expect(person.pauses == [.milliseconds(500)])
            let json = await person.types(
                "send greenhouse heater - --deadline 5m --json", input: " [1, 2]\n")
            #expect(json.hasSuffix(#"""
                {"answer":{"ok":true},"delivered":true,"id":"\#(StubFrontend.commandID)",\#
                "state":"answered","uncertain":false}
                ! ✓ answered
                [0]
                """#))
            #expect(await person.console.frontend.calls.contains("send heater [1,2], 300 s"))
        }
    }

    @Test("says why a board refused, and that nobody answered, by its exit status")
    func failed() async throws {
        try await Person.loggedIn { person in
            let frontend = person.console.frontend
            await frontend.endCommands(as: .refused)
            #expect(await person.types("send greenhouse heater 1") == """
                \(Self.sent)
                ! ✗ refused
                ! postern: board: the number must be at most 30 (142), \
                rule policy.toml:app.heater, field celsius
                [1]
                """)
            await frontend.endCommands(as: .expired, delivery: .sure)
            #expect(await person.types("send greenhouse heater 1") == """
                \(Self.sent)
                ! ✓ delivered to heater
                ! ✗ no answer
                ! postern: app: heater got the command and gave no answer in 1 min
                [1]
                """)
            await frontend.endCommands(as: .expired, delivery: .uncertain)
            #expect(await person.types("send greenhouse heater 1") == """
                \(Self.sent)
                ! ✗ perhaps delivered to heater
                ! ✗ no answer
                ! postern: app: heater may have got the command and gave no answer in 1 min
                [1]
                """)
            await frontend.endCommands(as: .expired)
            let away = await person.types("send greenhouse heater 1 --json")
            #expect(away.contains(#""delivered":false,"id":"#))
            #expect(away.contains(#""state":"expired","uncertain":false}"#))
            #expect(away.contains("! postern: board: heater did not get the command in 1 min"))
            #expect(away.hasSuffix("[5]"))
        }
    }

    @Test("asks nobody about what is no JSON, too long, or waits too long", arguments: [
        ("send greenhouse heater {", "the command: "), ("send greenhouse heater -", "the command"),
        ("send greenhouse heater 1 --deadline 0s", "a command waits from 1s to 24h"),
        ("send greenhouse heater 1 --deadline 25h", "a command waits from 1s to 24h"),
    ])
    func usage(line: String, words: String) async throws {
        try await Person.loggedIn { person in
            let before = await person.console.frontend.calls.count
            let seen = await person.types(
                line, input: String(repeating: " ", count: 16 * 1024) + "1")
            #expect(seen.contains(words))
            #expect(seen.hasSuffix("[2]"))
            #expect(await person.console.frontend.calls.count == before)
        }
    }
}
