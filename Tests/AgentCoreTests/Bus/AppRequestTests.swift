import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Requests of apps")
struct AppRequestTests {
    private func board() throws -> Bench {
        var bench = try Bench()
        try bench.provision()
        return bench
    }

    /// The messages to apps among the effects, as the agent's own subscription brings them back.
    private func echoes(_ effects: [AgentEffect], isMarked: Bool) -> [BusMessage] {
        effects.compactMap { effect in
            guard case .publishBus(let told) = effect, !told.retain else { return nil }
            return BusMessage(
                topic: told.topic, payload: told.payload, isRetained: false, packetID: 7,
                responseTopic: nil, correlation: told.correlation, isMarked: isMarked)
        }
    }

    @Test("with a wrong topic are answered where they ask, or at the app's own place", arguments: [
        ("/upsert/Reading", 105, "upsert"), ("/Create/Reading", 105, "Create"), ("/", 105, ""),
        ("", 105, ""), ("/answers", 105, "answers"), ("/answers/1/2/3", 105, "answers"),
        ("/create", 103, "create"), ("/create/Reading/x", 105, "create"),
        ("/update/Reading", 105, "update"), ("/delete/Reading/a/b", 105, "delete"),
        ("/get", 101, "get"), ("/get/foo", 101, "get"), ("/get/user/x", 101, "get"),
        ("/get/session/Tablet0001", 101, "get"), ("/rejected/x", 105, "rejected"),
    ])
    func topics(rest: String, code: Int64, op: String) throws {
        for response in [nil, "postern/app/thermo/mine/1"] {
            var bench = try board()
            let topic = "postern/app/thermo" + rest
            let effects = bench.handle(.bus([BusMessage(
                topic: topic, payload: [1], isRetained: false, packetID: 1,
                responseTopic: response, correlation: [9])]))
            let told = effects.published(response ?? "postern/app/thermo/rejected")
            let notice = try JSONObject(parsing: try #require(told.first))
            // A read asks for an answer by itself.
            #expect(try notice.integer("code") == (
                response == nil && rest == "/get/session/Tablet0001" ? 105 : code))
            #expect(try notice.string("rule") == "builtin:topic")
            #expect(try notice.string("op") == op)
            #expect(try notice.string("topic") == topic)
            #expect(notice.members["kind"]?.asString == (op == "get" ? "error" : nil))
            #expect(effects.correlations == [[9]])
            #expect(bench.store.writes.isEmpty)
        }
    }

    @Test("with too few levels are refused like others, and need no room in the store")
    func strays() throws {
        var bench = try board()
        for levels in ["", "/create", "/get", "/stray", "/"] {
            let effects = bench.handle(.strays([BusMessage(
                topic: "postern/app/thermo" + levels, payload: [1], isRetained: false,
                packetID: nil, responseTopic: nil, correlation: nil)]))
            #expect(effects.published("postern/app/thermo/rejected").count == 1)
            #expect(effects.commits.isEmpty)
        }
    }

    @Test("with a response topic that is not theirs are refused at the app's own place",
          arguments: ["create/Reading", "update/Reading/x", "get/session", "get/sessions"], [
              "postern/app/other/x", "postern/app/thermo/get/x", "postern/session", "", "other",
          ])
    func responseTopics(path: String, response: String) throws {
        var bench = try board()
        let effects = bench.handle(.bus([BusMessage(
            topic: "postern/app/thermo/\(path)", payload: [1], isRetained: false, packetID: 1,
            responseTopic: response, correlation: [9])]))
        #expect(try effects.codes(of: "thermo") == [105])
        #expect(effects.correlations == [[9]])
        #expect(effects.published(response).isEmpty)
        #expect(bench.store.writes.isEmpty)
    }

    @Test("that ask for an answer with too long correlation data are refused and not stored",
          arguments: ["create/Reading", "get/user"])
    func longCorrelation(path: String) throws {
        var bench = try board()
        let effects = bench.handle(.bus([BusMessage(
            topic: "postern/app/thermo/\(path)", payload: [1], isRetained: false, packetID: 1,
            responseTopic: "postern/app/thermo/mine",
            correlation: [UInt8](repeating: 7, count: 1025))]))
        #expect(try effects.codes(of: "thermo") == [116])
        #expect(effects.correlations == [nil])
        #expect(bench.store.writes.isEmpty)
    }

    @Test("to read are refused without a response topic", arguments: BusQuery.allCases)
    func unasked(query: BusQuery) throws {
        var bench = try board()
        let effects = bench.handle(.bus([.write("thermo", "get/\(query)", "")]))
        #expect(try effects.codes(of: "thermo") == [105])
    }

    @Test("are never the agent's own messages", arguments: [true, false])
    func echoes(isMarked: Bool) throws {
        var bench = try board()
        var effects = bench.handle(.bus([
            .write("thermo", "create/Reading", "1", response: "mine"),
            .write("thermo", "create/_User", "1", response: "mine"),
            .write("thermo", "create/_User", "1"), .write("thermo", "get/user", "", response: "x"),
        ]))
        #expect(echoes(effects, isMarked: isMarked).count == 4)
        let refused = bench.agent.health(up: true, at: bench.instant).refused
        effects = bench.handle(.bus(echoes(effects, isMarked: isMarked)))
        // A broker that takes the mark away costs one more refusal of each answer, and no more.
        #expect(try effects.codes(of: "thermo") == (isMarked ? [] : [105, 105, 105]))
        let later = bench.handle(.bus(echoes(effects, isMarked: isMarked)))
        #expect(later.correlations.isEmpty)
        let now = bench.agent.health(up: true, at: bench.instant).refused
        #expect(now - refused == (isMarked ? 0 : 3))
        #expect(bench.store.writes.count == 1)
    }

    @Test("cannot hide behind the agent's mark")
    func forged() throws {
        var bench = try board()
        let effects = bench.handle(.bus([
            ("create/Reading", nil), ("create/_User", nil), ("upsert/Reading", "mine"),
            ("rejected", "mine"),
        ].map { path, response in
            BusMessage(
                topic: "postern/app/thermo/\(path)", payload: [1], isRetained: false,
                packetID: nil, responseTopic: response.map { "postern/app/thermo/\($0)" },
                correlation: nil, isMarked: true)
        }))
        #expect(bench.store.writes.count == 1)
        #expect(try effects.codes(of: "thermo") == [119])
        #expect(effects.published("postern/app/thermo/mine").count == 2)
    }

    @Test("with a wrong verb count as refusals, within the app's limit of messages")
    func flood() throws {
        var bench = try board()
        let effects = bench.handle(.bus(Array(
            repeating: .write("mad", "upsert/Reading", "1"), count: 600)))
        #expect(effects.published("postern/app/mad/rejected").count == 500)
        #expect(bench.agent.health(up: true, at: bench.instant).refusals == [
            RefusalCount(app: "mad", rule: "builtin:topic", count: 600),
        ])
        #expect(bench.run(for: .seconds(2)).published("postern/app/mad/rejected").count == 1)
    }
}
