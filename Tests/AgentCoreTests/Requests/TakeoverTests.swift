import Sessions
import Testing
import Wire

@testable import AgentCore

@Suite("Another machine with this board's identity")
struct TakeoverTests {
    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    private func status(_ bench: inout Bench) throws -> [String: JSONValue] {
        for case .answer(_, let json) in bench.handle(.control(.status, connection: 2)) {
            return try #require(json.asObject)
        }
        return [:]
    }

    /// The broker gives the place away, and takes this agent again once it tries.
    private func lose(_ bench: inout Bench) throws -> (told: [AgentEffect], away: Duration) {
        let told = bench.handle(.uplink(.takenOver))
        let before = bench.monotonic
        while !bench.run(for: .milliseconds(500)).contains(where: \.isConnect) {
            try #require(bench.monotonic - before < .seconds(300))
        }
        return (told, bench.monotonic - before)
    }

    @Test("is proven by the third takeover within an hour, told, and forgotten after it")
    func proven() throws {
        var bench = try settled()
        for _ in 0..<2 {
            _ = try lose(&bench)
            bench.connect()
            #expect(try status(&bench)["identityShared"] == .bool(false))
        }
        let (told, _) = try lose(&bench)
        #expect(told.contains { $0.visibleText.contains(Agent.sharedIdentity) })
        // The heartbeat does not wait, and says so.
        let sent = try bench.sent(bench.connect())
        let heartbeat = try #require(sent.first { $0.body.name == "authenticate" })
        guard case .authenticate(_, _, let report) = heartbeat.body else {
            Issue.record("no heartbeat")
            return
        }
        #expect(report?.isShared == true)
        #expect(try status(&bench)["identityShared"] == .bool(true))
        #expect(try status(&bench)["uplink"]?.asString?.contains(Agent.sharedIdentity) == true)
        try bench.answer(heartbeat)
        bench.run(for: .seconds(3700))
        #expect(try status(&bench)["identityShared"] == .bool(false))
    }

    @Test("is proven by the authority, where the broker says nothing")
    func told() throws {
        var bench = try settled()
        bench.pass(.seconds(200))
        let heartbeat = try #require(try bench.sent(bench.handle(.deadline)).first)
        let effects = try bench.answer(heartbeat) { $0.isShared = true }
        #expect(effects.contains { $0.visibleText.contains(Agent.sharedIdentity) })
        #expect(try status(&bench)["identityShared"] == .bool(true))
        bench.run(for: .seconds(3700))
        #expect(try status(&bench)["identityShared"] == .bool(false))
    }

    @Test("is waited for longer each time, however long a connection lasted")
    func backsOff() throws {
        var bench = try settled()
        var waits: [Duration] = []
        for _ in 0..<7 {
            waits.append(try lose(&bench).away)
            bench.connect()
            bench.run(for: .seconds(90))
        }
        #expect(try #require(waits.last) >= .seconds(30))
    }
}

extension AgentEffect {
    fileprivate var isConnect: Bool { if case .connectUplink = self { true } else { false } }
}
