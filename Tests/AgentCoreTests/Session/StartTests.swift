import AgentCore
import Sessions
import Testing
import Wire

@Suite("Start")
struct StartTests {
    @Test("publishes unclaimed on a fresh board, and waits for no login")
    func unclaimed() throws {
        var bench = try Bench()
        let effects = bench.handle(.started)
        #expect(effects.states == ["unclaimed"])
        #expect(effects.logins.isEmpty)
        #expect(bench.agent.nextDeadline(at: bench.instant) == nil)
    }

    @Test("publishes the session it holds before anything of the network")
    func claimed() throws {
        var bench = try Bench()
        try bench.provision()
        try bench.restart()
        let effects = bench.handle(.started)
        #expect(effects.states == ["available"])
        let kinds = effects.kinds
        let connect = try #require(kinds.firstIndex(of: "connect"))
        #expect(try #require(kinds.firstIndex(of: "bus")) < connect)
        let payload = try #require(effects.published(BusTopic.session).first)
        let notice = try JSONObject(parsing: payload)
        #expect(notice.members["validatedAt"] == .time(Bench.start))
        #expect(try notice.session("session").objectID == ObjectID("Session001"))
    }

    @Test("publishes why there is no session", arguments: SessionEnd.allCases)
    func ended(end: SessionEnd) throws {
        var bench = try Bench()
        bench.store.commit([.memory(BoardMemory(ended: end.reason))])
        try bench.restart()
        #expect(bench.handle(.started).states == [end.rawValue])
    }

    @Test("publishes unreadable where the vault cannot be opened, and heals by a claim")
    func unreadable() throws {
        var bench = try Bench()
        try bench.provision()
        bench.store.isUnreadable = true
        try bench.restart()
        let effects = bench.handle(.started)
        #expect(effects.states == ["unreadable"])
        bench.store.isUnreadable = false
        let claim = try bench.pair()
        bench.connect()
        let healed = bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision(session: "Session002")), claim: claim)))
        #expect(healed.states == ["available"])
    }

    @Test("leaves what comes to the broker while the session cannot be read, and says degraded")
    func held() throws {
        var bench = try Bench()
        try bench.provision()
        bench.store.isUnreadable = true
        try bench.restart()
        let start = bench.handle(.started)
        #expect(start.holding == [true])
        let up = bench.handle(.busConnected(resumed: true))
        let session = try #require(up.published(BusTopic.session).last)
        let said = try JSONObject(parsing: session)
        #expect(said.members["code"] == .integer(209))
        #expect(said.members["final"] == .bool(false))
        let health = try JSONObject(parsing: try #require(up.published(BusTopic.health).last))
        #expect(health.members["degraded"] == .bool(true))
        bench.store.isUnreadable = false
        let claim = try bench.pair()
        bench.connect()
        let healed = bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision(session: "Session002")), claim: claim)))
        #expect(healed.holding == [false])
        bench.handle(.busLost)
        let again = bench.handle(.busConnected(resumed: true))
        #expect(again.states == ["available"])
        let answered = bench.handle(.bus([
            .write("thermo", "create/Reading", "1", packet: 1, response: "answers"),
        ]))
        #expect(answered.published("postern/app/thermo/answers").count == 1)
    }

    @Test("publishes expired, without a network, once the session's end has passed")
    func expired() throws {
        var bench = try Bench()
        try bench.provision()
        bench.pass(.seconds(86_401))
        try bench.restart()
        #expect(bench.handle(.started).states == ["expired"])
    }

    @Test("says again what is so when the bus comes back")
    func busAgain() throws {
        var bench = try Bench()
        try bench.provision()
        bench.handle(.busLost)
        #expect(bench.handle(.busConnected(resumed: true)).states == ["available"])
    }

    @Test("ends with a farewell on both brokers")
    func stop() throws {
        var bench = try Bench()
        try bench.provision()
        let effects = bench.handle(.stop)
        #expect(effects.kinds.suffix(4) == ["status", "bus", "disconnect", "exit"])
        guard case .publishStatus(_, let status) = effects[effects.count - 4] else { return }
        #expect(!status.up)
    }
}
