import AgentCore
import Sessions
import Testing
import Wire

@Suite("A board whose session expired")
struct ExpiredBoardTests {
    /// A board that holds a write, and whose authority has said that its session expired.
    private func expired() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        bench.pass(.seconds(86_401))
        let effects = try bench.reply(
            try #require(sent.last), .error(Refusal(.invalidSession, "over")))
        #expect(effects.states == ["expired"])
        #expect(effects.logs.contains { $0.contains("postern boards renew") })
        return bench
    }

    private func renew(
        _ bench: inout Bench, _ user: String = "ann"
    ) throws -> [AgentEffect] {
        let provision = try bench.authority.provision(
            user, session: "Session002", sequence: 101, at: bench.wall)
        return bench.handle(.inbox(
            try bench.authority.seal(.provision(provision), at: bench.wall)))
    }

    @Test("stays connected by its login, asks nothing, and sends what it held once it is renewed",
          arguments: [false, true])
    func renewed(isRestarted: Bool) throws {
        var bench = try expired()
        if isRestarted {
            bench.pass(.seconds(30 * 86_400))
            try bench.restart()
            let effects = bench.handle(.started)
            #expect(effects.logs.contains { $0.contains("postern boards renew") })
            let login = try #require(effects.logins.first)
            #expect(login.password.matches(SecretBytes(Array("broker-password-ann".utf8))))
        }
        #expect(try bench.sent(bench.connect()).isEmpty)
        #expect(try bench.sent(bench.run(for: .seconds(7200))).isEmpty)
        #expect(bench.store.writes.count == 1)
        let effects = try renew(&bench)
        #expect(effects.states == ["available"])
        #expect(try bench.sent(effects).map(\.body.name) == ["accepted", "authenticate"])
        #expect(effects.forwarded.last?.hasPrefix("ann") == true)
        #expect(bench.store.writes.count == 1)
        #expect(try bench.store.load().session?.session.objectID == ObjectID("Session002"))
        #expect(try bench.store.load().trust?.broker?.password?.matches(
            SecretBytes(Array("broker-password-ann".utf8))) == true)
    }

    @Test("refuses another user's session")
    func otherUser() throws {
        var bench = try expired()
        bench.connect()
        let effects = try renew(&bench, "bob")
        try expectForbidden(bench, effects)
        #expect(bench.store.writes.count == 1)
    }

    private func expectForbidden(_ bench: Bench, _ effects: [AgentEffect]) throws {
        #expect(effects.commits.isEmpty)
        guard case .provisionRejected(_, let error) = try bench.sent(effects).first?.body else {
            Issue.record("no rejection")
            return
        }
        #expect(error.is(.forbidden))
    }

    @Test("refuses to be renewed after a sign-out on it, and takes a claim",
          arguments: [false, true])
    func signedOut(isExpired: Bool) throws {
        var bench = try isExpired ? expired() : Bench()
        if !isExpired { try bench.provision() }
        let out = bench.handle(.control(.logout, connection: 7))
        #expect(out.states == ["signed-out"])
        for _ in 0..<2 {
            let sent = try bench.sent(bench.connect())
            let first = try renew(&bench)
            try expectForbidden(bench, first)
            // The authority knows of the sign-out now, and seals a renewal anyway.
            if let message = sent.first {
                try bench.reply(message, .error(Refusal(.invalidSession, "over")))
                let again = try renew(&bench)
                try expectForbidden(bench, again)
            }
            try bench.restart()
            #expect(bench.handle(.started).states == ["signed-out"])
        }
        let claim = try bench.pair()
        bench.connect()
        let provision = try bench.authority.provision(
            session: "Session003", sequence: 102, at: bench.wall)
        let effects = bench.handle(.inbox(try bench.authority.seal(
            .provision(provision), claim: claim, at: bench.wall)))
        #expect(effects.states == ["available"])
    }

    @Test("says once it is revoked that it must be paired again")
    func revoked() throws {
        var bench = try expired()
        bench.connect()
        let effects = bench.handle(.inbox(try bench.authority.seal(.revoked(
            sequence: 101, session: try #require(ObjectID("Session001")), reason: "revoked"))))
        #expect(effects.states == ["revoked"])
        #expect(try bench.sent(effects).map(\.body.name) == ["ended"])
    }

    @Test("says in its health when the held session ends by itself, and why")
    func outlook() throws {
        var bench = try Bench()
        try bench.provision()
        let ends = try #require(bench.agent.health(up: true, at: bench.instant).sessionEnds)
        #expect(ends.cause == .offline && ends.endsAt == bench.wall + .seconds(7200))
        let health = try JSONObject(
            parsing: bench.agent.health(up: true, at: bench.instant).payload)
        #expect(try health.object("sessionEnds").time("at").seconds == ends.endsAt.seconds)
        #expect(try health.object("sessionEnds").string("cause") == "offline")
        let over = try expired()
        #expect(over.agent.health(up: true, at: over.instant).sessionEnds == nil)
    }
}
