import AgentCore
import Sessions
import Testing
import Wire

@Suite("Refresh")
struct RefreshTests {
    /// Provisioned and authenticated; returns the bench at the instant a refresh is sent.
    private func refreshing() throws -> (bench: Bench, effects: [AgentEffect], BoardMessage) {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        for _ in 0..<100 {
            let next = try #require(bench.agent.nextDeadline(at: bench.instant))
            bench.pass(max(next - bench.monotonic, .zero))
            let effects = bench.handle(.deadline)
            for message in try bench.sent(effects) {
                if message.body.name == "refresh" { return (bench, effects, message) }
                try bench.answer(message)
            }
        }
        throw Missing()
    }

    private struct Missing: Error {}

    @Test("comes when a third of the access token's life is left, give or take a tenth of it")
    func when() throws {
        var waits: Set<Duration> = []
        for _ in 0..<4 {
            let (bench, _, _) = try refreshing()
            #expect(bench.wall - Bench.start >= .seconds(2399))
            #expect(bench.wall - Bench.start <= .seconds(2521))
            waits.insert(bench.wall - Bench.start)
        }
        #expect(waits.count > 1)
    }

    @Test("has its id in a commit before it is sent")
    func durable() throws {
        let (bench, effects, message) = try refreshing()
        let kinds = effects.kinds
        let commit = try #require(kinds.firstIndex(of: "commit"))
        let send = try #require(kinds.firstIndex(of: "send"))
        #expect(commit < send)
        #expect(try bench.store.load().session?.pendingRefresh == message.id)
        guard case .refresh(let token) = message.body else { return }
        #expect(token.reveal() == "rt:secret-Session001-1")
    }

    @Test("keeps its id through restarts and reconnects until it is answered")
    func sameID() throws {
        var (bench, _, message) = try refreshing()
        for _ in 0..<3 {
            try bench.restart()
            bench.handle(.started)
            let sent = try bench.sent(bench.connect())
            let again = try #require(sent.first { $0.body.name == "refresh" })
            #expect(again.id == message.id)
            bench.handle(.uplink(.lost("gone")))
            let later = try bench.sent(bench.connect())
            #expect(later.first { $0.body.name == "refresh" }?.id == message.id)
            let repeats = try bench.sent(bench.run(for: .seconds(100)))
                .filter { $0.body.name == "refresh" }
            #expect(repeats.count >= 2)
            #expect(repeats.allSatisfy { $0.id == message.id })
        }
        try bench.grant(message, generation: 2)
        #expect(try bench.store.load().session?.pendingRefresh == nil)
        #expect(bench.store.text.contains("rt:secret-Session001-2"))
        #expect(!bench.store.text.contains("rt:secret-Session001-1"))
        try bench.restart()
        bench.handle(.started)
        #expect(try !bench.sent(bench.connect()).contains { $0.body.name == "refresh" })
    }

    @Test("changes both tokens in one commit")
    func oneCommit() throws {
        var (bench, _, message) = try refreshing()
        let effects = try bench.grant(message, generation: 2)
        #expect(effects.commits.count == 1)
        #expect(effects.states.isEmpty)
        #expect(try bench.store.load().session?.tokens.refresh.reveal() == "rt:secret-Session001-2")
        #expect(try bench.grant(message, generation: 3).commits.isEmpty)
    }

    @Test("brings tokens alone: an end that was changed meanwhile stays, also after a restart")
    func tokensAlone() throws {
        var (bench, _, message) = try refreshing()
        let before = try #require(try bench.store.load().session?.session)
        var shorter = before
        shorter.expiresAt = bench.wall + .seconds(3600)
        bench.handle(.inbox(try bench.authority.seal(
            .updated(sequence: 101, session: shorter, scope: nil), at: bench.wall)))
        try bench.restart()
        bench.handle(.started)
        bench.connect()
        let tokens = try bench.authority.tokens(for: before, generation: 2, at: bench.wall)
        var result = Reply.Result()
        result.session = before
        result.accessToken = tokens.access
        result.refreshToken = tokens.refresh
        try bench.reply(message, .result(result))
        let held = try #require(try bench.store.load().session)
        #expect(held.tokens.refresh.reveal() == "rt:secret-Session001-2")
        #expect(held.session.expiresAt?.seconds == shorter.expiresAt?.seconds)
    }

    @Test("waits with no second one while the first is open")
    func single() throws {
        var (bench, _, message) = try refreshing()
        let sent = try bench.sent(bench.run(for: .seconds(3600)))
        #expect(Set(sent.filter { $0.body.name == "refresh" }.map(\.id)) == [message.id])
    }

    @Test("that lacks a token, or is another session's, is not taken and asked again",
          arguments: 0..<4)
    func bad(index: Int) throws {
        var (bench, _, message) = try refreshing()
        var held = try #require(try bench.store.load().session)
        let tokens = try bench.authority.tokens(
            for: held.session, generation: 2, at: bench.wall)
        if index == 0 {
            held.session = try bench.authority.provision(session: "Other00001").session
        }
        var result = Reply.Result()
        result.session = index == 1 ? nil : held.session
        result.accessToken = index == 2 ? nil : tokens.access
        result.refreshToken = index == 3 ? nil : tokens.refresh
        let before = bench.store.text
        #expect(try bench.reply(message, .result(result)).commits.isEmpty)
        #expect(bench.store.text == before)
        let again = try bench.sent(bench.run(for: .seconds(60)))
        #expect(again.contains { $0.id == message.id })
    }

    @Test("that the authority does not know keeps the session, backs off and says so")
    func unknown() throws {
        var (bench, _, message) = try refreshing()
        let effects = try bench.reply(
            message, .error(Refusal(.notFound, "no such family")))
        #expect(effects.states.isEmpty)
        #expect(effects.kinds.contains("log"))
        let soon = try bench.sent(bench.run(for: .seconds(250)))
        #expect(!soon.contains { $0.body.name == "refresh" })
        #expect(try bench.store.load().session != nil)
        let later = try bench.sent(bench.run(for: .seconds(100)))
        #expect(later.contains { $0.body.name == "refresh" })
    }

    @Test("answered 209 ends the session")
    func over() throws {
        var (bench, _, message) = try refreshing()
        let effects = try bench.reply(message, .error(Refusal(.invalidSession, "over")))
        #expect(effects.states == ["revoked"])
        #expect(!bench.store.text.contains("secret-Session001"))
        #expect(try bench.sent(bench.run(for: .seconds(7200))).isEmpty)
    }

    @Test("is not due while the clock is not set")
    func clockless() throws {
        var bench = try Bench()
        bench.wall = Timestamp(milliseconds: 1_000_000)
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision()), claim: claim)))
        let sent = try bench.sent(bench.run(for: .seconds(3600)))
        #expect(Set(sent.map(\.body.name)) == ["authenticate"])
        #expect(sent.allSatisfy { $0.clockUnset })
    }
}
