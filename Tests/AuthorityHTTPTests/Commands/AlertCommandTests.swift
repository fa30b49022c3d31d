import AuthorityCore
import AuthorityHTTP
import NIOHTTP1
import Sessions
import Testing

@Suite("Alerts by command and route")
struct AlertCommandTests {
    private struct Trials: AlertTest {
        let trials: [AlertTrial]
        func testAlerts() async -> [AlertTrial] { trials }
    }

    @Test("are listed as a table, and as JSON with every member")
    func list() async throws {
        try await Person.loggedIn { person in
            let table = await person.types("alerts list --resolved")
            #expect(table.contains("board-offline  2023-11-14 22:14 (1 min ago)"))
            #expect(table.contains("refusals       2023-11-14 22:13 (1 min ago)"))
            #expect(await person.types("alerts --json") == """
                [{"details":{"lastHeard":1700000000},\
                "id":"11111111-2222-4333-8444-555555555555",\
                "installationId":"\(StubFrontend.iid)","kind":"board-offline",\
                "name":"greenhouse","openedAt":1700000060,"resolvedAt":null,"state":"opened",\
                "text":"greenhouse is offline"},{"details":{},\
                "id":"11111111-2222-4333-8444-666666666666","installationId":null,\
                "kind":"refusals","name":null,"openedAt":1700000030,"resolvedAt":1700000090,\
                "state":"resolved","text":"7 boards: x"}]
                [0]
                """)
            let calls = await person.console.frontend.calls
            #expect(calls.suffix(2) == [
                "alerts everyone false resolved true", "alerts everyone false resolved false",
            ])
        }
    }

    @Test("cannot be tried where they are sent nowhere")
    func nowhere() async throws {
        try await Person.loggedIn { person in
            let seen = await person.types("alerts test")
            #expect(seen.contains("alerts are sent nowhere"))
            #expect(seen.hasSuffix("[2]"))
        }
    }

    @Test("are tried on each channel, and the caller is asked for rights first")
    func trials() async throws {
        let test = Trials(trials: [
            AlertTrial(channel: .email, failure: "TCP: refused"),
            AlertTrial(channel: .webhook, failure: nil),
        ])
        try await RunningConsole.with(alertTest: test) { console in
            let reply = try await console.send(.POST, "/postern/v1/alerts/test")
            #expect(reply.text == """
                {"results":[{"channel":"email","failure":"TCP: refused","isSent":false},\
                {"channel":"webhook","failure":null,"isSent":true}]}
                """)
            #expect(await console.frontend.calls.last == "alerts test")
            await console.frontend.fail(with: .refused(.init(.forbidden, "no")))
            #expect(try await console.send(.POST, "/postern/v1/alerts/test").code == 119)
        }
    }
}
