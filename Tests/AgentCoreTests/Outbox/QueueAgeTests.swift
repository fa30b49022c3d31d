import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Age of the queue")
struct QueueAgeTests {
    private func board(isClockSet: Bool = true) throws -> Bench {
        var bench = try Bench()
        bench.settings.queueAge = .seconds(1000)
        try bench.restart()
        let sent = try bench.sent(try bench.provision())
        if isClockSet { try bench.answer(try #require(sent.last)) }
        return bench
    }

    private func expiries(_ effects: [AgentEffect]) -> [Range<Timestamp>] {
        effects.commits.joined().compactMap { if case .expire(let span) = $0 { span } else { nil } }
    }

    private func holds(_ bench: inout Bench, since oldest: Timestamp) -> [AgentEffect] {
        bench.handle(.queue(QueueState(messages: 1, bytes: 100, oldest: oldest)))
    }

    @Test("has an end, which is waited for, and what is older goes once")
    func ends() throws {
        var bench = try board()
        #expect(expiries(holds(&bench, since: bench.wall)).isEmpty)
        bench.pass(.seconds(1010))
        #expect(expiries(bench.handle(.deadline)).isEmpty)
        let due = try #require(bench.agent.nextDeadline(at: bench.instant))
        #expect(due - bench.instant.monotonic <= .seconds(10))
        bench.pass(.seconds(10))
        let gone = expiries(bench.handle(.deadline))
        #expect(gone == [Bench.buildDate..<bench.wall - .seconds(1000)])
        // A store that leaves it standing is not asked again and again.
        #expect(expiries(bench.handle(.deadline)).isEmpty)
        #expect(expiries(holds(&bench, since: bench.wall - .seconds(2000))).count == 1)
    }

    @Test("is judged again once what was in flight is so no more", arguments: [true, false])
    func inFlight(isLost: Bool) throws {
        var bench = try board()
        _ = holds(&bench, since: bench.wall)
        bench.pass(.seconds(1020))
        #expect(expiries(bench.handle(.deadline)).count == 1)
        // The store spared it: its PUBACK may come.
        #expect(expiries(bench.handle(.deadline)).isEmpty)
        let again = bench.handle(.uplink(isLost ? .lost("TCP: reset") : .held(.refused("quota"))))
        #expect(expiries(again).count == 1)
        #expect(expiries(bench.handle(.deadline)).isEmpty)
    }

    @Test("is judged by no clock that the authority has not set")
    func unset() throws {
        var bench = try board(isClockSet: false)
        _ = holds(&bench, since: bench.wall)
        bench.pass(.seconds(100_000))
        #expect(expiries(bench.handle(.deadline)).isEmpty)
    }

    @Test("is none of what an unset clock has dated")
    func undated() throws {
        var bench = try board()
        #expect(expiries(holds(&bench, since: Timestamp(milliseconds: 5000))).isEmpty)
    }
}
