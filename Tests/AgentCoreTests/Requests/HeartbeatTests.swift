import AgentCore
import Sessions
import Testing
import Wire

@Suite("Heartbeat")
struct HeartbeatTests {
    /// Provisioned, with the first heartbeat answered.
    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    @Test("comes at once after a connect and then every 180 s, give or take a tenth")
    func rhythm() throws {
        var bench = try settled()
        var spans: Set<Duration> = []
        for _ in 0..<12 {
            let before = bench.monotonic
            #expect(try bench.sent(bench.run(for: .seconds(161.9))).isEmpty)
            var sent: [BoardMessage] = []
            while sent.isEmpty, bench.monotonic < before + .seconds(200) {
                sent = try bench.sent(bench.run(for: .seconds(1)))
            }
            let span = bench.monotonic - before
            #expect(span >= .seconds(161.9) && span <= .seconds(199.1))
            spans.insert(span)
            let heartbeat = try #require(sent.first { $0.body.name == "authenticate" })
            try bench.answer(heartbeat)
            for refresh in sent where refresh.body.name == "refresh" {
                try bench.grant(refresh, generation: 2)
            }
        }
        #expect(spans.count > 1)
    }

    @Test("bears the session token, asks for no extension, and is sealed")
    func content() throws {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        guard case .authenticate(let token, let minutes, _) = sent.last?.body else {
            Issue.record("no heartbeat")
            return
        }
        #expect(token.reveal() == "r:secret-Session001")
        #expect(minutes == nil)
        #expect(sent.last?.clockUnset == false)
        #expect(sent.last?.issuedAt == Bench.start)
    }

    @Test("is repeated with the same id and a fresh time until it is answered")
    func repeated() throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        let again = try bench.sent(bench.run(for: .seconds(120)))
            .filter { $0.body.name == "authenticate" }
        #expect(again.count >= 3)
        #expect(again.allSatisfy { $0.id == first.id && $0.issuedAt > first.issuedAt })
        let effects = try bench.answer(try #require(again.first))
        #expect(effects.commits.count == 1)
        // A second answer is one to nothing that was asked.
        #expect(try bench.answer(first).commits.isEmpty)
    }

    @Test("refreshes what is cached, and says so only when something has changed")
    func changes() throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        #expect(try bench.answer(first).states.isEmpty)
        let sent = try bench.sent(bench.run(for: .seconds(200)))
        let effects = try bench.answer(try #require(sent.first)) { result in
            result.session?.custom["room"] = .string("cellar")
            result.session?.expiresAt = Bench.start + .seconds(500_000)
        }
        #expect(effects.states == ["available"])
        #expect(try bench.store.load().session?.session.custom["room"] == .string("cellar"))
    }

    @Test("brings a scope into force; none leaves it as it was; one unread is not taken")
    func scope() throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        let closed = try JSONValue(parsing: Array("{\"default\":\"deny\"}".utf8))
        try bench.answer(first) { $0.scope = ScopeDocument(unchecked: closed) }
        let denied = bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(denied.published("postern/app/thermo/rejected").count == 1)
        let second = try #require(try bench.sent(bench.run(for: .seconds(200))).first)
        try bench.answer(second)
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        let third = try #require(try bench.sent(bench.run(for: .seconds(200))).first)
        let bad = try JSONValue(parsing: Array("{\"default\":\"perhaps\"}".utf8))
        try bench.answer(third) { $0.scope = ScopeDocument(unchecked: bad) }
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(bench.store.writes.isEmpty)
        // The heart beats on.
        let after = try bench.sent(bench.run(for: .seconds(400)))
        #expect(after.contains { $0.body.name == "authenticate" })
        let open = try JSONValue(parsing: Array("{}".utf8))
        try bench.answer(try #require(after.last { $0.body.name == "authenticate" })) {
            $0.scope = ScopeDocument(unchecked: open)
        }
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(bench.store.writes.count == 1)
    }

    @Test("is not satisfied by another session, another user, or an unrestricted one")
    func foreign() throws {
        for index in 0..<4 {
            var bench = try Bench()
            let first = try #require(try bench.sent(try bench.provision()).last)
            let other = try bench.authority.provision(
                index == 0 ? "bob" : "ann", session: index == 1 ? "Other00001" : "Session001")
            let before = bench.store.text
            let effects = try bench.answer(first) { result in
                result.session = other.session
                result.user = other.user
                if index == 2 { result.user = nil }
                if index == 3 { result.session = nil }
            }
            #expect(effects.commits.isEmpty)
            #expect(bench.store.text == before)
            let again = try bench.sent(bench.run(for: .seconds(60)))
            #expect(again.contains { $0.id == first.id })
        }
    }

    @Test("that is refused for a passing reason ends nothing", arguments: [101, 119, 140, 999])
    func refused(code: Int) throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        let effects = try bench.reply(first, .error(Refusal(code: code, text: "later")))
        #expect(effects.states.isEmpty)
        #expect(try bench.sent(effects).isEmpty)
        let next = try bench.sent(bench.run(for: .seconds(200)))
        #expect(next.first?.body.name == "authenticate")
        #expect(Set(next.map(\.id)).count == 1 && next.first?.id != first.id)
    }

    @Test("takes new signing keys from a reply")
    func keys() throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        let held = try #require(try bench.store.load().session)
        var result = Reply.Result()
        result.session = held.session
        result.user = held.user
        let key = SigningKey(kid: try #require(KeyID("k2")), key: Array(1...32))
        bench.handle(.inbox(try bench.authority.seal(.reply(Reply(
            re: first.id, now: bench.wall, outcome: .result(result), signKeys: [key])))))
        #expect(try bench.store.load().trust?.authority.signKeys == [key])
    }
}

extension Bench {
    /// Answers a refresh with the tokens of the next generation.
    @discardableResult
    mutating func grant(
        _ message: BoardMessage, generation: Int, life: Duration = .seconds(3600),
        now: Timestamp? = nil, change: (inout Reply.Result) throws -> Void = { _ in }
    ) throws -> [AgentEffect] {
        let session = try #require(try store.load().session).session
        let tokens = try authority.tokens(
            for: session, generation: generation, at: wall, life: life)
        var result = Reply.Result()
        result.session = session
        result.accessToken = tokens.access
        result.refreshToken = tokens.refresh
        try change(&result)
        return try reply(message, .result(result), now: now)
    }
}
