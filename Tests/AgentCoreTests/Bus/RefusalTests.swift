import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Refusals")
struct RefusalTests {
    /// A board that nobody has claimed and that waits for nothing: each write is refused.
    private func unclaimed() throws -> Bench {
        var bench = try Bench()
        bench.handle(.busConnected(resumed: false))
        return bench
    }

    private func bad(_ app: String, _ count: Int, response: String? = nil) -> AgentEvent {
        .bus(Array(repeating: .write(app, "create/Reading", "1", response: response), count: count))
    }

    private func notices(_ effects: [AgentEffect], _ topic: String) throws -> [JSONObject] {
        try effects.published("postern/app/\(topic)").map { try JSONObject(parsing: $0) }
    }

    /// How many refusals these messages tell of: one each, and what the summaries count.
    private func told(_ notices: [JSONObject]) -> Int64 {
        notices.reduce(0) { $0 + ($1.members["count"]?.asInteger ?? 1) }
    }

    private func counts(_ bench: Bench) -> [RefusalCount] {
        bench.agent.health(up: true, at: bench.instant).refusals
    }

    @Test("name code, rule, class, operation, topic and field, malformed topics too", arguments: [
        ("create/Reading", #"{"n":1,"x":2}"#, 119, "policy.toml:3", "Reading", "create", "x"),
        ("create/Reading", #"{"n":"1"}"#, 111, "policy.toml:3", "Reading", "create", "n"),
        ("update/Reading/a", "{}", 119, "policy.toml:3", "Reading", "update", nil),
        ("create/_User", "1", 119, "builtin:protected-class", "_User", "create", nil),
        ("create/Read ing", "1", 103, "builtin:topic", "Read ing", "create", nil),
        ("delete/Reading", "1", 105, "builtin:topic", "Reading", "delete", nil),
        ("update/Reading/a b", "1", 105, "builtin:topic", "Reading", "update", nil),
        ("create", "1", 103, "builtin:topic", "", "create", nil),
        ("get/token", "", 101, "builtin:topic", "", "get", nil),
    ] as [(String, String, Int64, String, String, String, String?)])
    func members(
        path: String, payload: String, code: Int64, rule: String, name: String, op: String,
        field: String?
    ) throws {
        var bench = try Bench()
        let reading = try #require(ClassName("Reading"))
        bench.policy = Policy(allowsByDefault: true, apps: [:], rules: [
            Rule(
                id: .policy(line: 3), app: nil, className: reading,
                allow: [.create], fields: ["n": try FieldType("number")],
                maxBytes: nil, rate: nil),
        ])
        try bench.restart()
        try bench.provision()
        for response in [nil, "answers"] {
            let effects = bench.handle(.bus([.write("thermo", path, payload, response: response)]))
            let notice = try #require(
                try notices(effects, "thermo/\(response ?? "rejected")").first)
            #expect(try notice.integer("code") == code)
            #expect(try notice.string("rule") == rule)
            #expect(try notice.string("class") == name)
            #expect(try notice.string("op") == op)
            #expect(try notice.string("topic") == "postern/app/thermo/\(path)")
            #expect(try !notice.string("error").isEmpty)
            #expect(MessageID(try notice.string("id")) != nil)
            #expect(notice.members["field"]?.asString == field)
            #expect(notice.members["count"] == nil)
            #expect(effects.correlations == [response.map { Array($0.utf8) }])
        }
        #expect(counts(bench) == [RefusalCount(app: "thermo", rule: rule, count: 2)])
    }

    @Test("of a board without a session, and of a route's message, name the same", arguments: [
        ("postern/app/thermo/update/Reading/a", "thermo", nil, 206, "update"),
        ("postern/app/thermo/update/Reading/a", "thermo", .revoked, 209, "update"),
        ("bridge/lamp", "bridge", nil, 206, "create"),
        ("bridge/lamp", "bridge", .signedOut, 209, "create"),
    ] as [(String, String, UnavailableReason?, Int64, String)])
    func unavailable(
        topic: String, app: String, ended: UnavailableReason?, code: Int64, op: String
    ) throws {
        var bench = try Bench()
        let filter = try #require(TopicFilter("bridge/+"))
        let bridge = try #require(AppName("bridge"))
        let reading = try #require(ClassName("Reading"))
        bench.settings.routes = RouteTable([
            Route(line: 1, from: filter, app: bridge, className: reading, operation: .create),
        ])
        bench.store.commit([.memory(BoardMemory(ended: ended))])
        try bench.restart()
        bench.handle(.busConnected(resumed: false))
        let effects = bench.handle(.bus([
            BusMessage(
                topic: topic, payload: [], isRetained: false, packetID: 1, responseTopic: nil,
                correlation: nil),
        ]))
        let notice = try #require(try notices(effects, "\(app)/rejected").first)
        #expect(try notice.integer("code") == code)
        #expect(try notice.string("rule") == "builtin:session")
        #expect(try notice.string("class") == "Reading")
        #expect(try notice.string("op") == op)
        #expect(try notice.string("topic") == topic)
        #expect(counts(bench) == [RefusalCount(app: app, rule: "builtin:session", count: 1)])
    }

    @Test("go to the app's own folder where its correlation data is too long to be carried")
    func longCorrelation() throws {
        var bench = try unclaimed()
        let effects = bench.handle(.bus([1024, 1025].map { count in
            BusMessage(
                topic: "postern/app/thermo/create/Reading", payload: [], isRetained: false,
                packetID: nil, responseTopic: "postern/app/thermo/mine",
                correlation: [UInt8](repeating: 7, count: count))
        }))
        #expect(try notices(effects, "thermo/mine").count == 1)
        #expect(try notices(effects, "thermo/rejected").count == 1)
        #expect(effects.correlations.map { $0?.count } == [1024, nil])
    }

    @Test("send back no more of a topic than any well-formed one has")
    func longTopic() throws {
        var bench = try unclaimed()
        let effects = bench.handle(.bus([
            .write("thermo", "create/" + String(repeating: "ü", count: 30_000), ""),
        ]))
        let payload = try #require(effects.published("postern/app/thermo/rejected").first)
        #expect(payload.count < 1200)
    }

    @Test("of an app that floods the board come 500 at once, then together, and the counts add up",
          arguments: [nil, "answers"])
    func flood(response: String?) throws {
        var bench = try unclaimed()
        var effects: [AgentEffect] = []
        for _ in 0..<100 { effects += bench.handle(bad("mad", 100, response: response)) }
        #expect(try notices(effects, "mad/\(response ?? "rejected")").count == 500)
        // It falls silent: the summary comes by itself.
        effects = bench.run(for: .seconds(1))
        let summary = try #require(try notices(effects, "mad/rejected").first)
        #expect(try notices(effects, "mad/rejected").count == 1)
        #expect(try summary.integer("count") == 9500)
        #expect(try summary.integer("code") == 206)
        #expect(try summary.string("error").hasPrefix("9500 more refused within a second"))
        #expect(try summary.string("rule") == "builtin:session")
        #expect(try summary.string("topic") == "postern/app/mad/create/Reading")
        #expect(counts(bench) == [
            RefusalCount(app: "mad", rule: "builtin:session", count: 10_000),
        ])
    }

    @Test("of an app that goes on being mad are at most 100 a second and a summary")
    func steady() throws {
        var bench = try unclaimed()
        var messages: [JSONObject] = []
        var logs = 0
        for second in 0..<60 {
            var effects: [AgentEffect] = []
            for _ in 0..<10 {
                effects += bench.handle(bad("mad", 100))
                effects += bench.run(for: .milliseconds(100))
            }
            let heard = try notices(effects, "mad/rejected")
            #expect(heard.count <= (second == 0 ? 600 : 101) + 1, "second \(second)")
            #expect(heard.count { $0.members["count"] != nil } <= 1)
            logs += effects.logs.count
            messages += heard
        }
        messages += try notices(bench.run(for: .seconds(2)), "mad/rejected")
        #expect(told(messages) == 60_000)
        #expect((1...6).contains(logs))
    }

    @Test("of one app do not silence another's, nor its accepted writes")
    func neighbours() throws {
        var bench = try Bench()
        try bench.provision()
        let mad = BusMessage.write("mad", "create/_User", "1")
        for _ in 0..<20 {
            let effects = bench.handle(.bus(
                Array(repeating: mad, count: 100) + [
                    .write("calm", "create/_User", "1", response: "a"),
                    .write("calm", "create/Reading", "1", response: "b"),
                ]))
            #expect(try notices(effects, "calm/a").count == 1)
            #expect(try notices(effects, "calm/b").count == 1)
        }
        #expect(counts(bench) == [
            RefusalCount(app: "mad", rule: "builtin:protected-class", count: 2000),
            RefusalCount(app: "calm", rule: "builtin:protected-class", count: 20),
        ])
    }

    @Test("that were not told wait for the bus, and are told at the end")
    func connection() throws {
        var bench = try unclaimed()
        bench.handle(bad("mad", 600))
        bench.handle(.busLost)
        #expect(bench.run(for: .seconds(5)).published("postern/app/mad/rejected").isEmpty)
        let back = bench.handle(.busConnected(resumed: true))
        #expect(try notices(back, "mad/rejected").map { try $0.integer("count") } == [100])
        bench.handle(bad("mad", 600))
        let last = bench.handle(.stop)
        #expect(try notices(last, "mad/rejected").map { try $0.integer("count") } == [100])
        let kinds = last.kinds
        #expect(kinds.last == "exit")
    }

    @Test("wake nobody once all is told")
    func silence() throws {
        var bench = try unclaimed()
        bench.handle(bad("mad", 5000))
        #expect(bench.agent.nextDeadline(at: bench.instant) != nil)
        bench.run(for: .seconds(10))
        #expect(bench.agent.nextDeadline(at: bench.instant) == nil)
    }

    @Test("of more apps than are remembered are all counted, and the last are told again later")
    func manyApps() throws {
        var bench = try unclaimed()
        var effects: [AgentEffect] = []
        for number in 0..<2000 { effects += bench.handle(bad("app\(number)", 2)) }
        let all = effects.compactMap { effect -> String? in
            guard case .publishBus(let publication) = effect else { return nil }
            return publication.topic.hasSuffix("/rejected") ? publication.topic : nil
        }
        // Two of each of the 256 that are remembered, and 500 of the others.
        #expect(all.count == 2 * 256 + 500)
        let entries = counts(bench)
        #expect(entries.count == 64)
        #expect(entries.first == RefusalCount(app: "*", rule: "*", count: 4000 - 63 * 2))
        #expect(entries.reduce(0) { $0 + $1.count } == 4000)
        bench.run(for: .seconds(10))
        #expect(try notices(bench.handle(bad("app1999", 600)), "app1999/rejected").count == 500)
    }

    @Test("of apps without a proper name are one number, told to nobody")
    func nameless() throws {
        var bench = try unclaimed()
        for number in 0..<300 {
            let effects = bench.handle(.bus([.write("Bad\(number)", "create/Reading", "1")]))
            #expect(effects.published("postern/app/Bad\(number)/rejected").isEmpty)
        }
        #expect(counts(bench) == [RefusalCount(app: "*", rule: "builtin:topic", count: 300)])
    }

    @Test("stand in the health topic and in the status, the most frequent first")
    func shown() throws {
        var bench = try unclaimed()
        bench.handle(bad("door", 2))
        bench.handle(bad("thermo", 3))
        let expected = try JSONValue(parsing: Array(#"""
            [{"app":"thermo","rule":"builtin:session","count":3},
             {"app":"door","rule":"builtin:session","count":2}]
            """#.utf8))
        let health = bench.run(for: .seconds(6)).published(BusTopic.health).last
        let told = try JSONObject(parsing: try #require(health))
        #expect(told.members["refusals"] == expected)
        #expect(try told.integer("refused") == 5)
        let status = try #require(bench.agent.status(at: bench.instant).asObject)
        #expect(status["refusals"] == expected)
    }
}

extension [AgentEffect] {
    /// The correlation data of all that is said on the bus and not retained.
    var correlations: [[UInt8]?] {
        compactMap { effect -> [UInt8]?? in
            guard case .publishBus(let publication) = effect, !publication.retain else {
                return nil
            }
            return .some(publication.correlation)
        }
    }
}
