import AgentCore
import Sessions
import Testing
import Wire

@Suite("End of a session")
struct EndingTests {
    private let held = ObjectID("Session001")
    private let other = ObjectID("Other00001")

    private func revoked(
        _ bench: Bench, _ session: ObjectID?, sequence: Int64, reason: String = "revoked"
    ) throws -> [UInt8] {
        try bench.authority.seal(.revoked(
            sequence: sequence, session: try #require(session), reason: reason))
    }

    @Test("209 destroys the tokens, says so on both brokers, and refuses writes")
    func over() throws {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        let effects = try bench.reply(
            try #require(sent.last), .error(Refusal(.invalidSession, "over")))
        #expect(effects.states == ["revoked"])
        #expect(effects.commits.last?.map(\.name) == ["no session", "memory"])
        #expect(effects.forwarded.last == "nobody")
        for secret in ["secret-Session001", "eyJhbGciOi"] {
            #expect(!bench.store.text.contains(secret))
        }
        let refused = bench.handle(.bus([.write("thermo", "create/Reading", "2")]))
        #expect(try refused.codes(of: "thermo") == [209])
        #expect(bench.store.writes.count == 1)
        try bench.restart()
        #expect(bench.handle(.started).states == ["revoked"])
    }

    @Test("after its time, 209 says expired")
    func expired() throws {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        bench.pass(.seconds(86_401))
        let effects = try bench.reply(
            try #require(sent.last), .error(Refusal(.invalidSession, "over")))
        #expect(effects.states == ["expired"])
        #expect(!bench.store.text.contains("secret-Session001"))
    }

    @Test("a revocation of the session held ends it and is answered", arguments: [
        ("revoked", "revoked"), ("reuse", "reuse"), ("signed-out", "signed-out"),
        ("expired", "expired"), ("unreadable", "revoked"), ("", "revoked"), ("x\ny", "revoked"),
    ])
    func revocation(reason: String, state: String) throws {
        var bench = try Bench()
        try bench.provision()
        let effects = bench.handle(
            .inbox(try revoked(bench, held, sequence: 101, reason: reason)))
        #expect(effects.states == [state])
        #expect(effects.kinds.first == "commit")
        #expect(effects.commits.count == 1)
        // What is queued on the connection is abandoned, and the answer goes over the next.
        #expect(try bench.sent(effects).isEmpty)
        #expect(effects.kinds.suffix(3).contains("connect"))
        #expect(try #require(effects.kinds.firstIndex(of: "abandon"))
            < #require(effects.kinds.firstIndex(of: "connect")))
        let sent = try bench.sent(bench.connect())
        #expect(sent.map(\.body.name) == ["ended"])
        guard case .sessionEnded(_, let session) = sent.first?.body else { return }
        #expect(session == held)
        #expect(!bench.store.text.contains("secret-Session001"))
        #expect(try bench.store.load().trust?.highestSequence == 101)
    }

    @Test("why it ended is told after a bare 209, once", arguments: [
        ("reuse", ["reuse"]), ("signed-out", ["signed-out"]), ("revoked", []), ("else", []),
    ] as [(String, [String])])
    func reason(text: String, states: [String]) throws {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.reply(try #require(sent.last), .error(Refusal(.invalidSession, "over")))
        bench.connect()
        let payload = try revoked(bench, held, sequence: 101, reason: text)
        let told = bench.handle(.inbox(payload))
        #expect(told.states == states)
        #expect(try bench.sent(told).map(\.body.name) == ["ended"])
        #expect(bench.handle(.inbox(payload)).states.isEmpty)
        let other = try revoked(bench, other, sequence: 102, reason: "expired")
        #expect(bench.handle(.inbox(other)).states.isEmpty)
        try bench.restart()
        #expect(bench.handle(.started).states == [states.first ?? "revoked"])
    }

    @Test("a revocation of a session not held is answered and changes none", arguments: [
        101, 100, 1,
    ] as [Int64])
    func foreignRevocation(sequence: Int64) throws {
        var bench = try Bench()
        try bench.provision()
        let effects = bench.handle(.inbox(try revoked(bench, other, sequence: sequence)))
        #expect(try bench.sent(effects).map(\.body.name) == ["ended"])
        #expect(effects.states.isEmpty)
        #expect(try bench.store.load().session != nil)
    }

    @Test("a revocation that comes again is answered again")
    func redelivery() throws {
        var bench = try Bench()
        try bench.provision()
        let payload = try revoked(bench, held, sequence: 101)
        bench.handle(.inbox(payload))
        bench.connect()
        for _ in 0..<3 {
            let effects = bench.handle(.inbox(payload))
            #expect(try bench.sent(effects).map(\.body.name) == ["ended"])
            #expect(effects.commits.isEmpty)
            try bench.restart()
            bench.handle(.started)
            bench.connect()
        }
    }

    @Test("what is not above the last seq is ignored", arguments: [100, 99, 0, -1, Int64.min])
    func sequence(number: Int64) throws {
        var bench = try Bench()
        try bench.provision()
        let before = bench.store.text
        let revocation = bench.handle(.inbox(try revoked(bench, held, sequence: number)))
        #expect(revocation.spoken == [] || revocation.spoken == ["bus"])
        let session = try #require(bench.store.load().session).session
        let update = bench.handle(.inbox(try bench.authority.seal(.updated(
            sequence: number, session: session, scope: nil))))
        #expect(update.commits.isEmpty)
        #expect(bench.store.text == before)
    }

    @Test("a replayed message has no second effect, and Int64.max no overflow")
    func replay() throws {
        var bench = try Bench()
        try bench.provision()
        var session = try #require(bench.store.load().session).session
        session.custom["room"] = .string("cellar")
        let payload = try bench.authority.seal(
            .updated(sequence: .max, session: session, scope: nil))
        #expect(bench.handle(.inbox(payload)).states == ["available"])
        #expect(bench.handle(.inbox(payload)).commits.isEmpty)
        #expect(try bench.store.load().trust?.highestSequence == .max)
    }

    @Test("an update changes session and scope in one commit, before it is told")
    func update() throws {
        var bench = try Bench()
        try bench.provision()
        var session = try #require(bench.store.load().session).session
        session.expiresAt = Bench.start + .seconds(500)
        let closed = try JSONValue(parsing: Array("{\"default\":\"deny\"}".utf8))
        let effects = bench.handle(.inbox(try bench.authority.seal(.updated(
            sequence: 101, session: session, scope: ScopeDocument(unchecked: closed)))))
        #expect(effects.commits.count == 1)
        #expect(effects.kinds.first == "commit")
        #expect(effects.states == ["available"])
        let refused = bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(try refused.codes(of: "thermo") == [119])
        try bench.restart()
        bench.handle(.started)
        let again = bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(try again.codes(of: "thermo") == [119])
        #expect(bench.run(for: .seconds(500)).states == ["expired"])
    }

    @Test("an update of another session or user, or one unrestricted, is dropped", arguments: 0..<3)
    func foreignUpdate(index: Int) throws {
        var bench = try Bench()
        try bench.provision()
        let old = try #require(bench.store.load().session).session
        let session = Session(
            objectID: index == 0 ? try #require(other) : old.objectID,
            user: index == 1 ? try #require(UserID("bob")) : old.user, restricted: index != 2,
            createdWith: old.createdWith, installationID: old.installationID,
            createdAt: old.createdAt, expiresAt: nil)
        let before = bench.store.text
        let effects = bench.handle(.inbox(try bench.authority.seal(
            .updated(sequence: 101, session: session, scope: nil))))
        #expect(effects.commits.isEmpty)
        #expect(bench.store.text == before)
    }

    @Test("a stale word of the abandoned connection is not taken for the next one's")
    func stale() throws {
        var bench = try Bench()
        try bench.provision()
        let ended = bench.handle(.inbox(try revoked(bench, held, sequence: 101)))
        #expect(ended.logins.count == 1)
        let effects = bench.handle(.uplink(.ready))
        #expect(try bench.sent(effects).isEmpty)
        #expect(!effects.kinds.contains("status"))
    }

    /// Whatever ends the session.
    enum Path: CaseIterable, Sendable { case heartbeat, refresh, list, revocation, signOut }

    @Test("has one handler: clear, publish, reject, say how to pair again",
          arguments: Path.allCases)
    func handler(path: Path) throws {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        let heartbeat = try #require(sent.last)
        let over = Reply.Outcome.error(Refusal(.invalidSession, "over"))
        let effects: [AgentEffect]
        switch path {
        case .heartbeat: effects = try bench.reply(heartbeat, over)
        case .refresh:
            let asked = try bench.sent(
                bench.handle(.control(.refresh(minutes: nil), connection: 1)))
            effects = try bench.reply(
                try #require(asked.first { $0.body.name == "refresh" }), over)
        case .list:
            let question = BusMessage.write("thermo", "get/sessions", "", response: "a")
            effects = try bench.reply(
                try #require(try bench.sent(bench.handle(.bus([question]))).last), over)
        case .revocation:
            effects = bench.handle(.inbox(try revoked(bench, held, sequence: 101)))
        case .signOut: effects = bench.handle(.control(.logout, connection: 1))
        }
        #expect(effects.states == [path == .signOut ? "signed-out" : "revoked"])
        // One commit ends it: the tokens' record and its key, and the reason, together.
        let last = try #require(effects.commits.last).map(\.name)
        #expect(last.suffix(2) == ["no session", "memory"])
        #expect(!bench.store.text.contains("secret-Session001"))
        let commit = try #require(effects.kinds.lastIndex(of: "commit"))
        #expect(try #require(effects.kinds.lastIndex(of: "bus")) > commit)
        #expect(effects.logs.contains { $0.contains("postern-agent pair") })
        let refused = bench.handle(.bus([.write("thermo", "create/Reading", "2")]))
        #expect(try refused.codes(of: "thermo") == [209])
        #expect(bench.connect().forwarded.last == "nobody")
    }

    @Test("of a session that cannot be read destroys what is left of it", arguments: [
        (true, "revoked"), (false, "signed-out"),
    ])
    func unreadable(isRevoked: Bool, reason: String) throws {
        var bench = try Bench()
        try bench.provision()
        bench.store.isUnreadable = true
        try bench.restart()
        #expect(bench.handle(.started).states == ["unreadable"])
        bench.connect()
        let effects = isRevoked
            ? bench.handle(.inbox(try revoked(bench, held, sequence: 101)))
            : bench.handle(.control(.logout, connection: 7))
        #expect(effects.states == [reason])
        bench.store.isUnreadable = false
        #expect(try bench.store.load().session == nil)
        try bench.restart()
        #expect(bench.handle(.started).states == [reason])
    }

    @Test("nothing is asked and nothing forwarded once it is over")
    func silence() throws {
        var bench = try Bench()
        try bench.provision()
        bench.handle(.inbox(try revoked(bench, held, sequence: 101)))
        #expect(try bench.sent(bench.connect()).map(\.body.name) == ["ended"])
        #expect(try bench.sent(bench.run(for: .seconds(86_400))).isEmpty)
        let effects = bench.connect()
        #expect(try bench.sent(effects).isEmpty)
        #expect(effects.forwarded.last == "nobody")
    }
}

extension [AgentEffect] {
    /// The codes of the rejections that an app was told.
    func codes(of app: String) throws -> [Int64] {
        try published("postern/app/\(app)/rejected").map { payload in
            try JSONObject(parsing: payload).integer("code")
        }
    }
}
