import AgentCore
import Sessions
import Testing
import Wire

@Suite("Coming back")
struct ReconnectTests {
    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    /// How long after a reconnect a message of this name is sent.
    private func wait(_ bench: inout Bench, for name: String, away: Duration) throws -> Duration? {
        bench.handle(.uplink(.lost("gone")))
        bench.pass(away)
        bench.handle(.deadline)
        let before = bench.monotonic
        var effects = bench.connect()
        while bench.monotonic - before < .seconds(100) {
            if try bench.sent(effects).contains(where: { $0.body.name == name }) {
                return bench.monotonic - before
            }
            effects = bench.run(for: .milliseconds(250))
        }
        return nil
    }

    @Test("a heartbeat that can wait is spread over half a minute")
    func spread() throws {
        var waits: Set<Duration> = []
        for _ in 0..<8 {
            var bench = try settled()
            let wait = try #require(
                try wait(&bench, for: "authenticate", away: .seconds(20)))
            #expect(wait <= .seconds(31))
            waits.insert(wait)
        }
        #expect(waits.count > 2)
    }

    @Test("after more than a heartbeat, past the grace or after a start nothing waits",
          arguments: [181, 7300] as [Int64])
    func atOnce(away: Int64) throws {
        var bench = try settled()
        #expect(try wait(&bench, for: "authenticate", away: .seconds(away)) == .zero)
        var restarted = try settled()
        try restarted.restart()
        restarted.handle(.started)
        #expect(try restarted.sent(restarted.connect()).map(\.body.name) == ["authenticate"])
    }

    @Test("an acceptance that nobody has confirmed, and a refresh that was begun, do not wait")
    func begun() throws {
        var fresh = try Bench()
        try fresh.provision()
        #expect(try wait(&fresh, for: "authenticate", away: .seconds(5)) == .zero)
        var bench = try settled()
        bench.handle(.control(.refresh(minutes: nil), connection: 1))
        #expect(try wait(&bench, for: "refresh", away: .seconds(5)) == .zero)
    }

    @Test("a refresh that became due meanwhile is spread over a minute", arguments: [true, false])
    func refresh(restarts: Bool) throws {
        var waits: Set<Duration> = []
        for _ in 0..<8 {
            var bench = try settled()
            if restarts {
                bench.pass(.seconds(3000))
                try bench.restart()
                bench.handle(.started)
            }
            let away = Duration.seconds(restarts ? 1 : 3000)
            let wait = try #require(try wait(&bench, for: "refresh", away: away))
            #expect(wait <= .seconds(61))
            waits.insert(wait)
        }
        #expect(waits.count > 2)
    }

    @Test("an answer on the way does not make the whole fleet refresh at once")
    func answered() throws {
        var waits: Set<Duration> = []
        for _ in 0..<8 {
            var bench = try settled()
            bench.handle(.uplink(.lost("gone")))
            bench.pass(.seconds(3000))
            bench.handle(.deadline)
            let before = bench.monotonic
            let sent = try bench.sent(bench.connect())
            try bench.answer(try #require(sent.first { $0.body.name == "authenticate" }))
            while bench.monotonic - before < .seconds(70) {
                let sent = try bench.sent(bench.run(for: .milliseconds(250)))
                if sent.contains(where: { $0.body.name == "refresh" }) { break }
            }
            #expect(bench.monotonic - before < .seconds(62))
            waits.insert(bench.monotonic - before)
        }
        #expect(waits.count > 2)
    }
}
