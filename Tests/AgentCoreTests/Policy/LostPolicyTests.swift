import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Lost policy")
struct LostPolicyTests {
    private let open = Policy(allowsByDefault: true, apps: [:], rules: [])

    private func write(_ bench: inout Bench) -> [AgentEffect] {
        bench.handle(.busConnected(resumed: true))
        return bench.handle(.bus([.write("thermo", "create/Reading", "1", response: "answers")]))
    }

    /// A board that had a policy in force, started without one.
    private func bereft() throws -> Bench {
        var bench = try Bench()
        bench.policy = open
        try bench.restart()
        bench.handle(.started)
        try bench.provision()
        bench.policy = nil
        try bench.restart()
        return bench
    }

    private func isLost(_ bench: Bench) -> Bool {
        bench.agent.status(at: bench.instant).asObject?["policyLost"] == .bool(true)
    }

    @Test("refuses every write and says so, at this start and the next")
    func refuses() throws {
        var bench = try bereft()
        for _ in 0..<2 {
            let start = bench.handle(.started)
            #expect(start.logs.contains { $0.contains("accept-none") })
            let health = try #require(
                bench.handle(.busConnected(resumed: true)).published(BusTopic.health).last)
            #expect(try JSONObject(parsing: health).members["degraded"] == .bool(true))
            let answer = try #require(write(&bench).published("postern/app/thermo/answers").last)
            let told = try JSONObject(parsing: answer)
            #expect(told.members["code"] == .integer(119))
            #expect(told.members["rule"] == .string("policy.toml:default"))
            #expect(try told.string("error").contains("policy.toml was in force and is gone"))
            #expect(isLost(bench))
            try bench.restart()
        }
    }

    @Test("is over once an operator confirms, and for good")
    func confirmed() throws {
        var bench = try bereft()
        bench.handle(.started)
        bench.handle(.control(.acceptNoPolicy, connection: 1))
        #expect(try bench.sequences(write(&bench)).count == 1)
        #expect(!isLost(bench))
        try bench.restart()
        bench.handle(.started)
        #expect(try bench.sequences(write(&bench)).count == 1)
    }

    @Test("is over once the file is back, and no new route confirms it")
    func back() throws {
        var bench = try bereft()
        bench.handle(.started)
        bench.handle(.rules(nil, RouteTable()))
        #expect(isLost(bench))
        bench.handle(.rules(open, RouteTable()))
        #expect(try bench.sequences(write(&bench)).count == 1)
        #expect(!isLost(bench))
        // It counts again: gone at the next start, it is lost.
        try bench.restart()
        #expect(isLost(bench))
    }

    @Test("is none where a running board was told that none is meant, or never had one")
    func meant() throws {
        var bench = try Bench()
        #expect(!isLost(bench))
        bench.policy = open
        try bench.restart()
        bench.handle(.started)
        bench.handle(.rules(nil, RouteTable()))
        bench.policy = nil
        try bench.restart()
        #expect(!isLost(bench))
    }

    @Test("cannot be confirmed while a policy is in force")
    func inForce() throws {
        var bench = try Bench()
        bench.policy = open
        try bench.restart()
        bench.handle(.started)
        let effects = bench.handle(.control(.acceptNoPolicy, connection: 1))
        let answers = effects.compactMap { effect in
            if case .answer(_, let json) = effect { json.asObject } else { nil }
        }
        let answer = try #require(answers.first)
        #expect(try Refusal(json: JSONObject(answer)).is(.forbidden))
    }
}

extension Bench {
    /// The sequences of `{"seq":n}` among these.
    fileprivate func sequences(_ effects: [AgentEffect]) throws -> [Int64] {
        try effects.published("postern/app/thermo/answers").compactMap { payload in
            try JSONObject(parsing: payload).members["seq"]?.asInteger
        }
    }
}
