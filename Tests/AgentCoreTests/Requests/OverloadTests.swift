import AgentCore
import Sessions
import Testing
import Wire

@Suite("An overloaded authority")
struct OverloadTests {
    /// A board that has just asked for a heartbeat and a refresh.
    private func asking() throws -> (bench: Bench, heartbeat: BoardMessage, refresh: BoardMessage) {
        var bench = try Bench()
        try bench.answer(try #require(try bench.sent(try bench.provision()).last))
        let sent = try bench.sent(bench.handle(.control(.refresh(minutes: nil), connection: 1)))
        return (
            bench, try #require(sent.first { $0.body.name == "authenticate" }),
            try #require(sent.first { $0.body.name == "refresh" }))
    }

    private func busy(_ seconds: Int64?) -> Reply.Outcome {
        var refusal = Refusal(.rateLimit, "overloaded; ask again later")
        refusal.retryAfter = seconds.map { .seconds($0) }
        return .error(refusal)
    }

    @Test("leaves session, tokens and the request's id as they were, and is asked again later",
          arguments: [nil, 5, 60] as [Int64?])
    func kept(seconds: Int64?) throws {
        var (bench, heartbeat, refresh) = try asking()
        for message in [heartbeat, refresh] { try bench.reply(message, busy(seconds)) }
        #expect(bench.agent.sessionState(at: bench.instant) == .available)
        #expect(try bench.store.load().session?.pendingRefresh == refresh.id)
        #expect(bench.store.text.contains("rt:secret-Session001-1"))
        let told = Duration.seconds(seconds ?? 30)
        let early = try bench.sent(bench.run(for: told - .seconds(1)))
        #expect(early.isEmpty)
        let late = try bench.sent(bench.run(for: told + .seconds(2)))
        #expect(late.first { $0.body.name == "authenticate" }?.id == heartbeat.id)
        #expect(late.first { $0.body.name == "refresh" }?.id == refresh.id)
    }

    @Test("is no contact: the session's grace runs on, and the answer that comes then counts")
    func contact() throws {
        var (bench, heartbeat, refresh) = try asking()
        let before = try #require(try bench.store.load().session?.lastContact)
        bench.pass(.seconds(20))
        try bench.reply(heartbeat, busy(30))
        #expect(try bench.store.load().session?.lastContact == before)
        try bench.answer(heartbeat)
        try bench.grant(refresh, generation: 2)
        #expect(try bench.store.load().session?.pendingRefresh == nil)
        #expect(try #require(try bench.store.load().session?.lastContact) > before)
    }

    @Test("is said in the log and in what the board says of its uplink, until it answers")
    func said() throws {
        var (bench, heartbeat, _) = try asking()
        let effects = try bench.reply(heartbeat, busy(30))
        #expect(effects.contains { $0.visibleText.contains("overloaded (155)") })
        #expect(try uplink(&bench).contains("overloaded"))
        try bench.answer(heartbeat)
        #expect(try !uplink(&bench).contains("overloaded"))
    }

    private func uplink(_ bench: inout Bench) throws -> String {
        for case .answer(_, let json) in bench.handle(.control(.status, connection: 2)) {
            return try #require(json.asObject?["uplink"]?.asString)
        }
        return ""
    }

    @Test("that answers a sign-out so is told of it again")
    func signOut() throws {
        var (bench, _, _) = try asking()
        var sent = try bench.sent(bench.handle(.control(.logout, connection: 3)))
        sent += try bench.sent(bench.connect())
        let first = try #require(sent.first { $0.body.name == "revoke" })
        try bench.reply(first, busy(30))
        let again = try bench.sent(bench.run(for: .seconds(60)))
        #expect(again.contains { $0.body.name == "revoke" })
    }
}
