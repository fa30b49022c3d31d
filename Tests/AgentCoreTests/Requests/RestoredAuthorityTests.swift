import AgentCore
import Sessions
import Testing
import Wire

@Suite("An authority that came back from a backup")
struct RestoredAuthorityTests {
    private static let notIssued = Reply.Outcome.error(
        Refusal(.notFound, "this session was not issued here"))

    @Test("costs the board neither session nor tokens, and is asked ever less to refresh")
    func refresh() throws {
        var bench = try Bench()
        try bench.answer(try #require(try bench.sent(try bench.provision()).last))
        var sent = try bench.sent(bench.handle(.control(.refresh(minutes: nil), connection: 1)))
        var open = try #require(sent.first { $0.body.name == "refresh" })
        let id = open.id
        for pause in [300, 600, 1200, 2400, 3600, 3600] {
            try bench.reply(open, Self.notIssued)
            #expect(bench.agent.sessionState(at: bench.instant) == .available)
            #expect(try bench.store.load().session?.pendingRefresh == id)
            let early = try quiet(&bench, for: .seconds(pause / 2 - 1))
            #expect(early.isEmpty)
            sent = try quiet(&bench, for: .seconds(pause / 2 + 2))
            open = try #require(sent.first)
            #expect(open.id == id)
        }
        #expect(bench.store.text.contains("rt:secret-Session001-1"))
    }

    @Test("is told of in the status, until it answers again")
    func told() throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        #expect(try status(&bench) == .bool(false))
        try bench.reply(first, Self.notIssued)
        #expect(try status(&bench) == .bool(true))
        let next = try #require(try bench.sent(bench.run(for: .seconds(200))).first)
        try bench.answer(next)
        #expect(try status(&bench) == .bool(false))
    }

    /// The refreshes of a span in which each heartbeat is answered.
    private func quiet(_ bench: inout Bench, for span: Duration) throws -> [BoardMessage] {
        var refreshes: [BoardMessage] = []
        let end = bench.monotonic + span
        while bench.monotonic < end {
            let step = min(Duration.seconds(10), end - bench.monotonic)
            for message in try bench.sent(bench.run(for: step)) {
                if message.body.name == "refresh" {
                    refreshes.append(message)
                } else {
                    try bench.answer(message)
                }
            }
        }
        return refreshes
    }

    private func status(_ bench: inout Bench) throws -> JSONValue? {
        for case .answer(_, let json) in bench.handle(.control(.status, connection: 2)) {
            return json.asObject?["notIssuedThere"]
        }
        return nil
    }
}
