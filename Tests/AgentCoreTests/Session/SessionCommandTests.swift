import AgentCore
import Sessions
import Testing
import Wire

@Suite("Session commands")
struct SessionCommandTests {
    /// Provisioned, connected, and heard of.
    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    @Test("refresh rotates and validates now, and is answered when both are")
    func refresh() throws {
        var bench = try settled()
        let effects = bench.handle(.control(.refresh(minutes: nil), connection: 7))
        #expect(effects.answers.isEmpty)
        let sent = try bench.sent(effects)
        #expect(sent.map(\.body.name) == ["authenticate", "refresh"])
        #expect(effects.kinds.firstIndex(of: "commit") != nil)
        #expect(try bench.answer(try #require(sent.first)).answers.isEmpty)
        let answers = try bench.grant(try #require(sent.last), generation: 2).answers
        #expect(answers.map(\.connection) == [7])
        #expect(answers.first?.json["result"] == .string("done"))
        #expect(answers.first?.json["state"] == .string("available"))
        #expect(bench.store.text.contains("rt:secret-Session001-2"))
    }

    @Test("refresh --for asks for the extension until it is answered", arguments: [true, false])
    func extend(isCorrected: Bool) throws {
        var bench = try settled()
        var sent = try bench.sent(
            bench.handle(.control(.refresh(minutes: 43_200), connection: 7)))
        let refresh = try #require(sent.last)
        if isCorrected {
            sent = try bench.sent(try bench.reply(
                try #require(sent.first), .error(Refusal(.validation, "clock")),
                now: bench.wall + .seconds(400)))
        }
        guard case .authenticate(_, let minutes, _) = try #require(sent.first).body else { return }
        #expect(minutes == 43_200)
        let effects = try bench.answer(try #require(sent.first)) { result in
            result.session?.expiresAt = Bench.start + .seconds(43_200 * 60)
        }
        #expect(effects.states == ["available"])
        #expect(try bench.grant(refresh, generation: 2).answers.count == 1)
        let next = try bench.sent(bench.run(for: .seconds(200)))
        guard case .authenticate(_, nil, _) = try #require(next.first).body else {
            Issue.record("it extends again")
            return
        }
    }

    @Test("refresh --for refuses an earlier end than the present one, and asks nobody",
          arguments: [nil, 60] as [Int64?])
    func shorter(lastsMinutes: Int64?) throws {
        var bench = try settled()
        let sent = try bench.sent(bench.handle(.control(.refresh(minutes: 43_200), connection: 7)))
        try bench.answer(try #require(sent.first)) { result in
            result.session?.expiresAt = lastsMinutes.map { Bench.start + .seconds($0 * 60) }
        }
        let effects = bench.handle(.control(.refresh(minutes: 30), connection: 8))
        #expect(effects.answers.first?.json["result"] == .string("refused"))
        #expect(try bench.sent(effects).isEmpty)
    }

    @Test("refresh is told the refusal of either part", arguments: [0, 1])
    func refused(part: Int) throws {
        var bench = try settled()
        let sent = try bench.sent(bench.handle(.control(.refresh(minutes: nil), connection: 7)))
        let answers = try bench.reply(
            sent[part], .error(Refusal(.notFound, "no such family"))).answers
        #expect(answers.first?.json["result"] == .string("refused"))
        #expect(try bench.store.load().session != nil)
    }

    @Test("refresh of a session that turns out to be over says so, and what is so now")
    func over() throws {
        var bench = try settled()
        let sent = try bench.sent(bench.handle(.control(.refresh(minutes: nil), connection: 7)))
        let answers = try bench.reply(
            try #require(sent.last), .error(Refusal(.invalidSession, "over"))).answers
        #expect(answers.first?.json["result"] == .string("no-session"))
        #expect(answers.first?.json["reason"] == .string("revoked"))
        let again = bench.handle(.control(.refresh(minutes: nil), connection: 8)).answers
        #expect(again.first?.json["result"] == .string("no-session"))
    }

    @Test("refresh waits for a connection and an answer, 15 s at most", arguments: [true, false])
    func late(isConnected: Bool) throws {
        var bench = try settled()
        if !isConnected { bench.handle(.uplink(.lost("gone"))) }
        let effects = bench.handle(.control(.refresh(minutes: nil), connection: 7))
        #expect(effects.kinds.contains(isConnected ? "send" : "connect"))
        #expect(bench.run(for: .seconds(14)).answers.isEmpty)
        let answers = bench.run(for: .seconds(2)).answers
        #expect(answers.first?.json["result"] == .string(isConnected ? "late" : "offline"))
        #expect(answers.first?.json["state"] == .string("available"))
    }

    @Test("refresh asked for while offline is done on the connection that comes")
    func reconnect() throws {
        var bench = try settled()
        bench.handle(.uplink(.lost("gone")))
        bench.handle(.control(.refresh(minutes: nil), connection: 7))
        let sent = try bench.sent(bench.connect())
        #expect(Set(sent.map(\.body.name)) == ["authenticate", "refresh"])
    }

    @Test("refresh asked for again sends at once what has no answer yet, under its id")
    func hastened() throws {
        var bench = try settled()
        let first = try bench.sent(bench.handle(.control(.refresh(minutes: nil), connection: 7)))
        _ = bench.run(for: .seconds(2))
        let second = try bench.sent(bench.handle(.control(.refresh(minutes: nil), connection: 8)))
        #expect(second.map(\.id) == first.map(\.id))
    }

    @Test("an agent that was only opened to be asked answers at once")
    func standing() throws {
        var bench = try settled()
        try bench.restart()
        let refresh = bench.handle(.control(.refresh(minutes: nil), connection: 0)).answers
        #expect(refresh.first?.json["result"] == .string("offline"))
        let logout = bench.handle(.control(.logout, connection: 0))
        #expect(logout.answers.first?.json["result"] == .string("offline"))
        #expect(logout.answers.first?.json["reason"] == .string("signed-out"))
        try bench.restart()
        #expect(bench.handle(.started).states == ["signed-out"])
        #expect(try bench.sent(bench.connect()).map(\.body.name) == ["revoke"])
    }

    @Test("no more than sixteen wait")
    func bounded() throws {
        var bench = try settled()
        for connection in 0..<16 {
            #expect(bench.handle(
                .control(.refresh(minutes: nil), connection: connection)).answers.isEmpty)
        }
        let answers = bench.handle(.control(.refresh(minutes: nil), connection: 16)).answers
        #expect(answers.map(\.connection) == [16])
        #expect(answers.first?.json["result"] == .string("refused"))
        #expect(Set(bench.run(for: .seconds(20)).answers.map(\.connection)) == Set(0..<16))
    }
}

@Suite("Sign-out on the board")
struct SignOutTests {
    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    @Test("destroys the tokens at once, keeps the queue, and tells the authority")
    func online() throws {
        var bench = try settled()
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        let effects = bench.handle(.control(.logout, connection: 7))
        #expect(effects.states == ["signed-out"])
        #expect(effects.commits.count == 1)
        #expect(effects.answers.isEmpty)
        #expect(!bench.store.text.contains("secret-Session001"))
        #expect(!bench.store.text.contains("eyJhbGciOi"))
        #expect(bench.store.writes.count == 1)
        let refused = bench.handle(.bus([.write("thermo", "create/Reading", "2")]))
        #expect(try refused.codes(of: "thermo") == [209])
        let sent = try bench.sent(bench.connect())
        guard case .revoke(let token) = sent.first?.body else {
            Issue.record("the authority is not told")
            return
        }
        #expect(token.reveal() == "r:secret-Session001")
        let done = try bench.reply(try #require(sent.first), .result(Reply.Result()))
        #expect(done.answers.first?.json["result"] == .string("done"))
        #expect(done.answers.first?.json["reason"] == .string("signed-out"))
        #expect(try bench.store.load().memory.signOut == nil)
        #expect(try bench.sent(bench.run(for: .seconds(7200))).isEmpty)
    }

    @Test("is one request, said again until it is answered, through restarts and months",
          arguments: [1, 3600, 86_400, 90 * 86_400] as [Int64])
    func offline(away: Int64) throws {
        var bench = try settled()
        bench.handle(.uplink(.lost("gone")))
        bench.handle(.control(.logout, connection: 7))
        let answers = bench.run(for: .seconds(16)).answers
        #expect(answers.first?.json["result"] == .string("offline"))
        bench.pass(.seconds(away))
        try bench.restart()
        bench.handle(.started)
        var sent = try bench.sent(bench.connect())
        // What the authority refuses for any other reason is no end of it.
        try bench.reply(try #require(sent.first), .error(Refusal(.quota, "busy")))
        sent += try bench.sent(bench.run(for: .seconds(25)))
        #expect(sent.count >= 2)
        #expect(Set(sent.map(\.id)).count == 1)
        for message in sent {
            #expect(message.body.name == "revoke")
            #expect(!message.clockUnset)
        }
        try bench.reply(try #require(sent.last), .error(Refusal(.invalidSession, "over")))
        #expect(try bench.store.load().memory.signOut == nil)
        try bench.restart()
        bench.handle(.started)
        #expect(try bench.sent(bench.connect()).isEmpty)
    }

    @Test("on a board whose clock is wrong is said at once, and says so")
    func clock() throws {
        var bench = try settled()
        bench.pass(.seconds(7200))
        bench.wall = Timestamp(milliseconds: 0)
        try bench.restart()
        bench.handle(.started)
        bench.handle(.control(.logout, connection: 7))
        let sent = try bench.sent(bench.connect())
        #expect(sent.map(\.body.name) == ["revoke"])
        #expect(sent.allSatisfy { $0.clockUnset })
    }

    @Test("is done with when the authority itself ends the session, or another begins",
          arguments: [true, false])
    func known(isRevoked: Bool) throws {
        var bench = try settled()
        bench.handle(.control(.logout, connection: 7))
        bench.connect()
        let payload: [UInt8]
        if isRevoked {
            payload = try bench.authority.seal(.revoked(
                sequence: 101, session: try #require(ObjectID("Session001")),
                reason: "revoked"))
        } else {
            let claim = try bench.pair()
            payload = try bench.authority.seal(
                .provision(try bench.authority.provision(session: "Session002")), claim: claim)
            bench.connect()
        }
        let effects = bench.handle(.inbox(payload))
        #expect(effects.answers.count == 1)
        #expect(try bench.store.load().memory.signOut == nil)
    }

    @Test("without a session says so")
    func none() throws {
        var bench = try Bench()
        bench.handle(.started)
        let answers = bench.handle(.control(.logout, connection: 7)).answers
        #expect(answers.first?.json["result"] == .string("no-session"))
    }
}

extension [AgentEffect] {
    /// The answers to commands, by connection.
    var answers: [(connection: Int, json: [String: JSONValue])] {
        compactMap { effect in
            guard case .answer(let connection, let json) = effect else { return nil }
            return (connection, json.asObject ?? [:])
        }
    }
}
