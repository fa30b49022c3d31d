import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Bus")
struct BusTests {
    private func board() throws -> Bench {
        var bench = try Bench()
        try bench.provision()
        return bench
    }

    private func sequences(_ effects: [AgentEffect], _ topic: String) throws -> [Int64] {
        try effects.published("postern/app/thermo/\(topic)").map {
            try JSONObject(parsing: $0).integer("seq")
        }
    }

    @Test("a batch is one commit, and the commit comes before every answer")
    func batch() throws {
        var bench = try board()
        let effects = bench.handle(.bus((1...50).map { index in
            .write("thermo", "create/Reading", "\(index)", packet: UInt16(index), response: "a")
        }))
        #expect(effects.commits.count == 1)
        #expect(effects.kinds.first == "commit")
        #expect(try sequences(effects, "a") == Array(1...50))
        #expect(bench.store.writes.map(\.sequence) == Array(1...50))
        #expect(bench.store.window.count == 50)
        let first = try #require(bench.store.writes.first)
        #expect(first.payload == Array("1".utf8))
        #expect(first.session == ObjectID("Session001"))
        #expect(first.user == UserID("ann0000000"))
        #expect(first.acceptedAt == Bench.start)
        #expect(first.topic == "postern/v1/\(bench.identity.installation)/data/Reading/create")
    }

    @Test("good and bad writes of one batch are told apart, in order")
    func mixed() throws {
        var bench = try board()
        let effects = bench.handle(.bus([
            .write("thermo", "create/Reading", "1", response: "a"),
            .write("thermo", "create/_User", "2", response: "a"),
            .write("thermo", "update/Reading/x", "3", response: "a"),
        ]))
        let answers = try effects.published("postern/app/thermo/a").map {
            try JSONObject(parsing: $0)
        }
        #expect(answers.map { $0.members["seq"] } == [.integer(1), nil, .integer(2)])
        #expect(answers[1].members["code"] == .integer(119))
        #expect(bench.store.writes.count == 2)
    }

    @Test("a refusal has its code, rule and reason, to the app's own folder", arguments: [
        ("create/_User", "x", 119, "builtin:protected-class"),
        ("create/_Session", "x", 119, "builtin:protected-class"),
        ("delete/_Role/r", "x", 119, "builtin:protected-class"),
        ("create/_Future", "x", 119, "builtin:reserved-class"),
        ("create/_User/../x", "x", 105, "builtin:topic"),
        ("create/Read ing", "x", 103, "builtin:topic"),
        ("create/_Us\u{435}r", "x", 103, "builtin:topic"),
        ("update/Reading", "x", 105, "builtin:topic"),
        ("update/Reading/a+b", "x", 105, "builtin:topic"),
        ("create/Reading", String(repeating: "x", count: 262_145), 116, "builtin:payload-size"),
    ])
    func refusals(path: String, payload: String, code: Int64, rule: String) throws {
        var bench = try board()
        let effects = bench.handle(.bus([.write("thermo", path, payload)]))
        #expect(effects.commits.isEmpty)
        let notice = try JSONObject(parsing: try #require(
            effects.published("postern/app/thermo/rejected").first))
        #expect(try notice.integer("code") == code)
        #expect(try notice.string("rule") == rule)
        #expect(try notice.string("topic") == "postern/app/thermo/\(path)")
        #expect(MessageID(try notice.string("id")) != nil)
        #expect(try !notice.string("error").isEmpty)
        #expect(bench.store.writes.isEmpty)
    }

    @Test("a malformed name of an app is told to nobody", arguments: ["Thermo", "a b", "+", ""])
    func nobody(name: String) throws {
        var bench = try board()
        let effects = bench.handle(.bus([.write(name, "create/Reading", "x", response: "a")]))
        #expect(effects.spoken.filter { $0 != "bus" && $0 != "status" }.isEmpty)
        #expect(effects.published("postern/app/\(name)/a").isEmpty)
        #expect(bench.store.writes.isEmpty)
    }

    @Test("an unclaimed board refuses with 206, one whose session is over with 209")
    func noSession() throws {
        var bench = try Bench()
        bench.handle(.started)
        let unclaimed = bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(try unclaimed.codes(of: "thermo") == [206])
        bench.store.commit([.memory(BoardMemory(ended: .revoked))])
        try bench.restart()
        bench.handle(.started)
        let over = bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(try over.codes(of: "thermo") == [209])
    }

    @Test("retained messages are not read")
    func retained() throws {
        var bench = try board()
        let effects = bench.handle(.bus([
            .write("thermo", "create/Reading", "1", retained: true),
            .write("thermo", "create/_User", "1", retained: true),
        ]))
        #expect(effects.spoken.filter { $0 != "bus" }.isEmpty)
        #expect(effects.published("postern/app/thermo/rejected").isEmpty)
        #expect(bench.store.writes.isEmpty)
    }

    @Test("an answer goes nowhere but under the app's own folder", arguments: [
        "postern/session", "postern/app/other/x", "postern/app/thermo/create/Reading",
        "postern/app/thermo/get/user", "postern/app/thermo/+", "postern/app/thermo/#", "#",
        "postern/app/thermo", "$SYS/x", "",
    ])
    func responseTopics(topic: String) throws {
        var bench = try board()
        let effects = bench.handle(.bus([
            BusMessage(
                topic: "postern/app/thermo/create/Reading", payload: [1], isRetained: false,
                packetID: 1, responseTopic: topic, correlation: [9]),
            BusMessage(
                topic: "postern/app/thermo/create/_User", payload: [1], isRetained: false,
                packetID: 2, responseTopic: topic, correlation: [9]),
        ]))
        #expect(effects.published(topic).isEmpty)
        #expect(try effects.codes(of: "thermo") == [105, 105])
        #expect(effects.correlations == [[9], [9]])
        #expect(bench.store.writes.isEmpty)
    }

    @Test("correlation data comes back with the outcome")
    func correlation() throws {
        var bench = try board()
        let effects = bench.handle(.bus([.write("thermo", "create/Reading", "1", response: "a")]))
        let correlations = effects.compactMap { effect -> [UInt8]? in
            if case .publishBus(let publication) = effect { publication.correlation } else { nil }
        }
        #expect(correlations == [Array("a".utf8)])
    }

    @Test("reads are answered from the cache, without a token", arguments: BusQuery.allCases)
    func reads(query: BusQuery) throws {
        var bench = try board()
        bench.handle(.uplink(.lost("gone")))
        let effects = bench.handle(.bus([.write("thermo", "get/\(query)", "", response: "a")]))
        let answer = try #require(effects.published("postern/app/thermo/a").first)
        let text = String(decoding: answer, as: UTF8.self)
        #expect(text.contains(query == .user ? "\"username\":\"ann\"" : "Session001"))
        #expect(effects.commits.isEmpty)
        var empty = try Bench()
        empty.handle(.started)
        let none = empty.handle(.bus([.write("thermo", "get/\(query)", "", response: "a")]))
        let refusal = try JSONObject(parsing: try #require(
            none.published("postern/app/thermo/a").first))
        #expect(try refusal.integer("code") == 206)
    }

    @Test("a policy's limits are told: size, rate, and what it does not allow")
    func policy() throws {
        var bench = try board()
        let thermo = try #require(AppName("thermo"))
        let name = try #require(ClassName("Log"))
        bench.handle(.rules(Policy(
            allowsByDefault: true,
            apps: [thermo: AppLimit(rate: try Rate("3/s"), maxBytes: ByteCount(bytes: 4))],
            rules: [Rule(
                id: .policy(line: 7), app: nil, className: name, allow: [], fields: nil,
                maxBytes: nil, rate: nil)]), RouteTable()))
        let effects = bench.handle(.bus([
            .write("thermo", "create/Reading", "12345"), .write("thermo", "create/Log", "1"),
        ] + (0..<5).map { _ in .write("thermo", "create/Reading", "1") }))
        #expect(try effects.codes(of: "thermo") == [116, 119, 155, 155])
        #expect(bench.store.writes.count == 3)
        bench.pass(.seconds(1))
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(bench.store.writes.count == 4)
    }

    @Test("another program's topic is a write of the class that its route names")
    func routes() throws {
        var bench = try Bench()
        bench.settings.routes = RouteTable(
            try [("Reading", 1), ("_User", 2)].map { name, line in
                Route(
                    line: line, from: try #require(TopicFilter("zigbee\(line)/+")),
                    app: try #require(AppName("zigbee")),
                    className: try #require(ClassName(name)), operation: .create)
            })
        try bench.restart()
        try bench.provision()
        func message(_ topic: String) -> BusMessage {
            BusMessage(
                topic: topic, payload: [1], isRetained: false, packetID: nil,
                responseTopic: "postern/app/zigbee/a", correlation: nil)
        }
        let effects = bench.handle(.bus([
            message("zigbee1/lamp"), message("zigbee2/lamp"), message("zigbee3/lamp"),
            message("zigbee1/lamp/x"), message("zigbee1/lamp\0"),
        ]))
        #expect(bench.store.writes.map(\.className) == [ClassName("Reading")])
        #expect(try effects.codes(of: "zigbee") == [119])
        #expect(effects.published("postern/app/zigbee/a").isEmpty)
    }

    @Test("a queue that is full at the start is not read into")
    func fullAtStart() throws {
        var bench = try board()
        bench.settings.queueLimit = 1100
        bench.handle(.bus([.write("thermo", "create/Reading", String(repeating: "x", count: 200))]))
        try bench.restart()
        #expect(bench.handle(.started).reading == [false])
    }

    @Test("health is told at once and then at most every five seconds")
    func health() throws {
        var bench = try board()
        var told = 0
        for _ in 0..<100 {
            bench.pass(.milliseconds(100))
            told += bench.handle(.bus([.write("thermo", "create/_User", "1")]))
                .published(BusTopic.health).count
        }
        #expect((1...3).contains(told))
        var effects = bench.handle(.bus([.write("thermo", "create/_User", "1")]))
        effects += bench.run(for: .seconds(6))
        let last = effects.published(BusTopic.health).last
        let json = try JSONObject(parsing: try #require(last))
        #expect(try json.integer("refused") == 101)
        #expect(try json.integer("pid") == 42)
    }
}
