import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Outlook")
struct OutlookTests {
    @Test("tells how long the room lasts while it shrinks", arguments: [
        // in and out in bytes a second, room, a way out, hours
        (100, 0, 360_000, true, 1.0), (100, 50, 360_000, true, 2.0), (100, 100, 360_000, true, nil),
        (50, 100, 360_000, true, nil), (0, 0, 360_000, true, nil), (0, 0, 360_000, false, nil),
        (100, 50, 360_000, false, 1.0), (100, 0, 0, true, 0.0), (100, 0, -5, true, 0.0),
        (0.001, 0, .max, true, 9999), (3, 0, 100_000, true, 9.26),
    ] as [(Double, Double, Int64, Bool, Double?)])
    func hours(incoming: Double, outgoing: Double, room: Int64, hasWayOut: Bool, hours: Double?) {
        let outlook = QueueOutlook(
            in: incoming, out: outgoing, room: room, hasWayOut: hasWayOut)
        #expect(outlook.hoursLeft == hours)
    }

    private func board() throws -> Bench {
        var bench = try Bench()
        bench.settings.queueLimit = 1_090_000
        bench.settings.queueReserve = 90_000
        try bench.restart()
        try bench.provision()
        return bench
    }

    /// Fills and empties for so many seconds, and returns what is in then.
    private func run(
        _ bench: inout Bench, _ seconds: Int, in incoming: Int64, out outgoing: Int64,
        from bytes: Int64 = 0
    ) -> Int64 {
        var bytes = bytes
        for _ in 0..<seconds {
            bench.pass(.seconds(1))
            bytes += incoming
            bench.handle(.queue(QueueState(messages: 1, bytes: bytes, oldest: Bench.start)))
            bytes -= outgoing
            bench.handle(.queue(QueueState(messages: 1, bytes: bytes, oldest: Bench.start)))
        }
        return bytes
    }

    @Test("follows the rates of the last five minutes, and what counts is the way out")
    func rates() throws {
        var bench = try board()
        let bytes = run(&bench, 600, in: 1000, out: 900)
        #expect(bytes == 60_000)
        var outlook = bench.agent.queueOutlook(at: bench.instant)
        #expect(abs(outlook.bytesPerSecondIn - 1000) < 50)
        #expect(abs(outlook.bytesPerSecondOut - 900) < 50)
        // 940,000 bytes at 100 a second.
        #expect(abs((outlook.hoursLeft ?? 0) - 2.61) < 0.2)
        bench.handle(.uplink(.lost("TCP: gone")))
        outlook = bench.agent.queueOutlook(at: bench.instant)
        #expect(abs((outlook.hoursLeft ?? 0) - 0.261) < 0.03)
        #expect(bench.agent.health(up: true, at: bench.instant).hoursLeft == outlook.hoursLeft)
    }

    @Test("forgets what is older, and says by itself that there is no end any more")
    func fades() throws {
        var bench = try board()
        bench.handle(.uplink(.lost("TCP: gone")))
        _ = run(&bench, 10, in: 1000, out: 0)
        #expect(bench.agent.health(up: true, at: bench.instant).hoursLeft != nil)
        let effects = bench.run(for: .seconds(700))
        let told = try effects.published(BusTopic.health).map {
            try JSONObject(parsing: $0).object("queue").members["hoursLeft"]
        }
        #expect(told.last == .null)
        #expect(bench.agent.queueOutlook(at: bench.instant).bytesPerSecondIn == 0)
    }

    @Test("takes no heed of the wall clock, nor for a way out what was dropped")
    func independent() throws {
        var bench = try board()
        var bytes = run(&bench, 60, in: 1000, out: 0)
        bench.wall = Timestamp(milliseconds: 0)
        let before = bench.agent.queueOutlook(at: bench.instant)
        bytes -= 50_000
        var dropped = QueueState(messages: 1, bytes: bytes, oldest: Bench.start)
        dropped.losses.total = 500
        bench.handle(.queue(dropped))
        #expect(bench.agent.queueOutlook(at: bench.instant).bytesPerSecondOut == 0)
        #expect(abs(before.bytesPerSecondIn - 1000) < 20)
    }
}
