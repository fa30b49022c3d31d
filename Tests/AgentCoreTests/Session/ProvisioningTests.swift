import AgentCore
import Sessions
import Testing
import Wire

@Suite("Provisioning")
struct ProvisioningTests {
    @Test("is durable in one commit before any effect speaks of it")
    func oneCommit() throws {
        var bench = try Bench()
        let effects = try bench.provision()
        #expect(effects.commits.count == 1)
        let names = Set(effects.commits[0].map(\.name))
        #expect(names == ["no session", "session", "trust", "memory", "no claim"])
        let kinds = effects.kinds
        #expect(kinds.first == "commit")
        #expect(effects.states == ["available"])
        let sent = try bench.sent(effects)
        #expect(sent.map(\.body.name) == ["accepted", "authenticate"])
        guard case .provisionAccepted(_, let session) = sent[0].body else { return }
        #expect(session == ObjectID("Session001"))
        #expect(effects.forwarded.last == "ann0000000")
    }

    @Test("destroys the claim secret, which serves no second time")
    func usedClaim() throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        let first = try bench.authority.provision()
        bench.handle(.inbox(try bench.authority.seal(.provision(first), claim: claim)))
        #expect(!bench.store.text.contains(Base64URL.encode(claim.reveal())))
        let second = try bench.authority.provision("eve", session: "Session666", sequence: 900)
        let effects = bench.handle(
            .inbox(try bench.authority.seal(.provision(second), claim: claim)))
        #expect(effects.spoken == [] || effects.spoken == ["bus"])
        #expect(try bench.store.load().session?.user.username == "ann")
    }

    @Test("that comes again is answered again, and changes nothing")
    func redelivery() throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        let payload = try bench.authority.seal(
            .provision(try bench.authority.provision()), claim: claim)
        bench.handle(.inbox(payload))
        for _ in 0..<3 {
            let before = bench.store.text
            let effects = bench.handle(.inbox(payload))
            #expect(effects.commits.isEmpty)
            #expect(try bench.sent(effects).map(\.body.name) == ["accepted"])
            #expect(bench.store.text == before)
            try bench.restart()
            bench.handle(.started)
            bench.connect()
        }
    }

    @Test("that comes again is not answered once any reply was heard")
    func acknowledged() throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        let payload = try bench.authority.seal(
            .provision(try bench.authority.provision()), claim: claim)
        let sent = try bench.sent(bench.handle(.inbox(payload)))
        try bench.answer(try #require(sent.last))
        #expect(try bench.sent(bench.handle(.inbox(payload))).isEmpty)
    }

    @Test("that is refused is answered once a connection, and the log stays short")
    func refusedAgain() throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        var provision = try bench.authority.provision()
        provision.expiresAt = Bench.start
        let payload = try bench.authority.seal(.provision(provision), claim: claim)
        var effects: [AgentEffect] = []
        for _ in 0..<100 { effects += bench.handle(.inbox(payload)) }
        #expect(try bench.sent(effects).map(\.body.name) == ["rejected"])
        #expect(effects.kinds.filter { $0 == "log" }.count == 7)
        bench.handle(.uplink(.lost("gone")))
        bench.connect()
        #expect(try bench.sent(bench.handle(.inbox(payload))).map(\.body.name) == ["rejected"])
    }

    @Test("is accepted again at each connect, until any reply is heard")
    func repeatedAcceptance() throws {
        var bench = try Bench()
        try bench.provision()
        for _ in 0..<3 {
            bench.handle(.uplink(.lost("tcp: gone")))
            let sent = try bench.sent(bench.connect()).map(\.body.name)
            #expect(sent == ["accepted", "authenticate"])
        }
        try bench.restart()
        bench.handle(.started)
        let sent = try bench.sent(bench.connect())
        #expect(sent.map(\.body.name) == ["accepted", "authenticate"])
        try bench.answer(sent[1])
        bench.handle(.uplink(.lost("tcp: gone")))
        #expect(try bench.sent(bench.connect()).isEmpty)
        try bench.restart()
        bench.handle(.started)
        #expect(try bench.sent(bench.connect()).map(\.body.name) == ["authenticate"])
    }

    @Test("under the claim secret is taken whatever its seq, and sets it")
    func sequence() throws {
        var bench = try Bench()
        try bench.provision()
        let claim = try bench.pair(fresh: true)
        let again = try bench.authority.provision(session: "Session002", sequence: 5)
        bench.handle(.inbox(try bench.authority.seal(.provision(again), claim: claim)))
        #expect(try bench.store.load().session?.session.objectID == ObjectID("Session002"))
        #expect(try bench.store.load().trust?.highestSequence == 5)
    }

    @Test("from the pinned key needs a higher seq and the same user")
    func renewal() throws {
        var bench = try Bench()
        try bench.provision()
        let old = try bench.authority.provision(session: "Session002", sequence: 100)
        let dropped = bench.handle(.inbox(try bench.authority.seal(.provision(old))))
        #expect(dropped.commits.isEmpty)
        #expect(try bench.sent(dropped).isEmpty)
        let other = try bench.authority.provision("bob", session: "Session002", sequence: 101)
        let refused = bench.handle(.inbox(try bench.authority.seal(.provision(other))))
        #expect(refused.commits.isEmpty)
        #expect(try bench.sent(refused).map(\.body.name) == ["rejected"])
        let next = try bench.authority.provision(session: "Session002", sequence: 101)
        bench.handle(.inbox(try bench.authority.seal(.provision(next))))
        #expect(try bench.store.load().session?.session.objectID == ObjectID("Session002"))
    }

    @Test("of another user destroys the queue in the commit that ends the old session")
    func otherUser() throws {
        var bench = try Bench()
        try bench.provision()
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(bench.store.writes.count == 1)
        let claim = try bench.pair(fresh: true)
        let bob = try bench.authority.provision("bob", session: "Session002")
        let effects = bench.handle(.inbox(try bench.authority.seal(.provision(bob), claim: claim)))
        let names = try #require(effects.commits.first).map(\.name)
        #expect(names.first == "destroy queue")
        #expect(names.contains("session"))
        #expect(effects.kinds.first { $0 != "log" } == "commit")
        #expect(bench.store.writes.isEmpty)
        #expect(!bench.store.text.contains("secret-Session001"))
        // Nothing of the old user's is written any more: the acceptance takes the next connection.
        #expect(effects.kinds.contains("abandon"))
        #expect(effects.forwarded.last == "nobody")
        #expect(try bench.sent(effects).isEmpty)
        let next = bench.connect()
        #expect(next.forwarded.last == "bob0000000")
        #expect(try bench.sent(next).map(\.body.name) == ["accepted", "authenticate"])
    }

    @Test("of the same user keeps what is queued")
    func sameUser() throws {
        var bench = try Bench()
        try bench.provision()
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        let claim = try bench.pair(fresh: true)
        let again = try bench.authority.provision(session: "Session002")
        let effects = bench.handle(
            .inbox(try bench.authority.seal(.provision(again), claim: claim)))
        #expect(!effects.commits.joined().map(\.name).contains("destroy queue"))
        #expect(bench.store.writes.count == 1)
    }

    @Test("of another user after a revocation destroys what the old one left")
    func otherUserLater() throws {
        var bench = try Bench()
        try bench.provision()
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        bench.handle(.inbox(try bench.authority.seal(.revoked(
            sequence: 101, session: try #require(ObjectID("Session001")), reason: "revoked"))))
        #expect(bench.store.writes.count == 1)
        bench.handle(.queue(bench.store.queue))
        let claim = try bench.pair()
        let bob = try bench.authority.provision("bob", session: "Session002", sequence: 200)
        bench.handle(.inbox(try bench.authority.seal(.provision(bob), claim: claim)))
        #expect(bench.store.writes.isEmpty)
        #expect(try bench.store.load().session?.user.username == "bob")
        // What is gone is said: a gap of one, on the bus and upstream.
        bench.handle(.queue(bench.store.queue))
        #expect(bench.agent.status(at: bench.instant).asObject?["gaps"] == .integer(1))
        let told = bench.connect().compactMap { effect in
            if case .publishStatus(_, let status) = effect { status.gaps } else { nil }
        }
        #expect(told == [AnnouncedGaps(total: 1, ranges: [1...1])])
    }

    @Test("by a board whose trust cannot be read destroys the rows of another user",
          arguments: ["ann", "bob"])
    func unreadableTrust(name: String) throws {
        var bench = try Bench()
        try bench.provision()
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        bench.store.trust = nil
        bench.store.isUnreadable = true
        try bench.restart()
        #expect(bench.handle(.started).states == ["unreadable"])
        let claim = try bench.pair()
        bench.connect()
        bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision(name, session: "Session002")),
            claim: claim)))
        #expect(bench.store.writes.count == (name == "ann" ? 1 : 0))
    }

    @Test("with an access token that has expired meanwhile is taken: a refresh is due at once")
    func staleAccessToken() throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        var provision = try bench.authority.provision()
        provision.expiresAt = Bench.start + .seconds(86_400)
        bench.pass(.seconds(7000))
        let effects = bench.handle(
            .inbox(try bench.authority.seal(.provision(provision), claim: claim)))
        #expect(try bench.sent(effects).map(\.body.name)
            == ["accepted", "authenticate", "refresh"])
    }
}

extension BusMessage {
    /// A write of an app, at QoS 1 unless `packetID` is nil.
    static func write(
        _ app: String, _ path: String, _ payload: String, packet: UInt16? = nil,
        response: String? = nil, retained: Bool = false, key: StatedKey = .none
    ) -> BusMessage {
        BusMessage(
            topic: "postern/app/\(app)/\(path)", payload: Array(payload.utf8),
            isRetained: retained, packetID: packet,
            responseTopic: response.map { "postern/app/\(app)/\($0)" },
            correlation: response.map { Array($0.utf8) }, key: key)
    }
}
