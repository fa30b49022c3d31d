import AgentCore
import Gate
import Testing
import Wire

@Suite("Changed rules")
struct RuleChangeTests {
    private func board() throws -> Bench {
        var bench = try Bench()
        try bench.provision()
        return bench
    }

    private func policy(
        allowsByDefault: Bool = true, line: Int = 1, rate: String? = nil, allow: Bool = true
    ) throws -> Policy {
        Policy(allowsByDefault: allowsByDefault, apps: [:], rules: [
            Rule(
                id: .policy(line: line), app: nil, className: ClassName("Reading"),
                allow: allow ? [.create] : [], fields: nil, maxBytes: nil,
                rate: try rate.map { text throws(GrammarError) in try Rate(text) }),
        ])
    }

    private func routes(_ filters: String...) throws -> RouteTable {
        RouteTable(try filters.enumerated().map { line, filter in
            Route(
                line: line, from: try #require(TopicFilter(filter)),
                app: try #require(AppName("zigbee")),
                className: try #require(ClassName("Reading")), operation: .create)
        })
    }

    private func reading(_ topic: String) -> BusMessage {
        BusMessage(
            topic: topic, payload: [1], isRetained: false, packetID: nil, responseTopic: nil,
            correlation: nil)
    }

    @Test("judge what comes next, and the log says what is in force")
    func policyChange() throws {
        var bench = try board()
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        let effects = bench.handle(.rules(try policy(allow: false), RouteTable()))
        #expect(effects.logs == ["in force now: 1 rules, by default allow; 0 routes"])
        let refused = bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(try refused.codes(of: "thermo") == [119])
        let gone = bench.handle(.rules(nil, RouteTable()))
        #expect(gone.logs == ["in force now: no policy file; 0 routes"])
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(bench.store.writes.count == 2)
    }

    @Test("of routes name the topics to read, and only when they change")
    func routeChange() throws {
        var bench = try board()
        bench.handle(.bus([reading("z/1")]))
        #expect(bench.store.writes.isEmpty)
        let added = bench.handle(.rules(nil, try routes("z/+", "y/#")))
        #expect(added.routed == ["z/+ y/#"])
        bench.handle(.bus([reading("z/1"), reading("y/a/b")]))
        #expect(bench.store.writes.count == 2)
        #expect(bench.handle(.rules(try policy(), try routes("z/+", "y/#"))).routed.isEmpty)
        let removed = bench.handle(.rules(try policy(), try routes("y/#")))
        #expect(removed.routed == ["y/#"])
        // The broker may have sent one more of the old topics: it is of no route.
        let late = bench.handle(.bus([reading("z/1")]))
        #expect(bench.store.writes.count == 2)
        #expect(late.commits.isEmpty)
    }

    @Test("do not fill an empty bucket, on whatever line its rule stands by now")
    func buckets() throws {
        var bench = try board()
        let write = BusMessage.write("thermo", "create/Reading", "1")
        bench.handle(.rules(try policy(rate: "2/min"), RouteTable()))
        bench.handle(.bus([write, write]))
        for line in [9, 4] {
            bench.handle(.rules(try policy(line: line, rate: "2/min"), RouteTable()))
            let refused = bench.handle(.bus([write]))
            #expect(try refused.codes(of: "thermo") == [155])
        }
        bench.pass(.seconds(30))
        bench.handle(.bus([write]))
        #expect(bench.store.writes.count == 3)
    }

    @Test("end a wait that a faster rate does not know")
    func faster() throws {
        var bench = try board()
        let write = BusMessage.write("thermo", "create/Reading", "1")
        bench.handle(.rules(try policy(rate: "1/h"), RouteTable()))
        bench.handle(.bus([write]))
        bench.handle(.rules(try policy(rate: "1/s"), RouteTable()))
        bench.pass(.seconds(1))
        bench.handle(.bus([write]))
        #expect(bench.store.writes.count == 2)
    }
}

extension [AgentEffect] {
    /// What other programs' topics are to be read, each time it was said.
    fileprivate var routed: [String] {
        compactMap { effect in
            guard case .readRoutes(let filters) = effect else { return nil }
            return filters.map(\.description).joined(separator: " ")
        }
    }
}
