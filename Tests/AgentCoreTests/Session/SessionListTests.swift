import AgentCore
import Sessions
import Testing
import Wire

@Suite("The user's sessions on the bus")
struct SessionListTests {
    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    private let question = BusMessage.write("thermo", "get/sessions", "", response: "mine")

    private func ids(_ effects: [AgentEffect]) throws -> [[String]] {
        try effects.published("postern/app/thermo/mine").map { payload in
            let answer = try JSONObject(parsing: payload)
            #expect(try answer.string("kind") == "sessions")
            let sessions = try #require(answer.members["sessions"]?.asArray)
            return sessions.compactMap { $0.asObject?["objectId"]?.asString }
        }
    }

    private func session(
        _ id: String, user: UserID, restricted: Bool = true
    ) throws -> Session {
        Session(
            objectID: try #require(ObjectID(id)), user: user, restricted: restricted,
            createdWith: CreatedWith(action: "login", authProvider: "password"),
            installationID: nil, createdAt: Bench.start, expiresAt: nil,
            custom: ["sessionToken": .string("r:secret-leak"), "room": .string("attic")])
    }

    private func grant(
        _ bench: inout Bench, _ message: BoardMessage
    ) throws -> [AgentEffect] {
        let own = try #require(bench.store.load().session).session
        var result = Reply.Result()
        result.sessions = [
            own, try session("Tablet0001", user: own.user),
            try session("Login00001", user: own.user, restricted: false),
            try session("Bobs000001", user: try #require(UserID("bob"))),
        ]
        return try bench.reply(message, .result(result))
    }

    @Test("are asked for once, however many programs wait, and hold no unrestricted one")
    func asked() throws {
        var bench = try settled()
        let first = bench.handle(.bus([question, question]))
        #expect(first.published("postern/app/thermo/mine").isEmpty)
        let sent = try bench.sent(first)
        #expect(sent.map(\.body.name) == ["list"])
        let effects = try grant(&bench, try #require(sent.first))
        #expect(try ids(effects) == [
            ["Session001", "Tablet0001"], ["Session001", "Tablet0001"],
        ])
        // For one heartbeat the cache answers, and after a restart too while offline.
        let again = bench.handle(.bus([question]))
        #expect(try bench.sent(again).isEmpty)
        #expect(try ids(again) == [["Session001", "Tablet0001"]])
        try bench.restart()
        bench.handle(.started)
        #expect(try ids(bench.handle(.bus([question]))) == [["Session001", "Tablet0001"]])
    }

    @Test("are asked for again after a heartbeat")
    func stale() throws {
        var bench = try settled()
        let sent = try bench.sent(bench.handle(.bus([question])))
        _ = try grant(&bench, try #require(sent.first))
        for message in try bench.sent(bench.run(for: .seconds(200))) {
            if message.body.name == "authenticate" { try bench.answer(message) }
        }
        let again = try bench.sent(bench.handle(.bus([question])))
        #expect(again.map(\.body.name) == ["list"])
    }

    @Test("are what is known where the authority does not answer, refuses, or is out of reach",
          arguments: 0..<3)
    func unanswered(index: Int) throws {
        var bench = try settled()
        if index == 2 { bench.handle(.uplink(.lost("gone"))) }
        var effects = bench.handle(.bus([question]))
        if index == 0 {
            #expect(bench.run(for: .seconds(9)).published("postern/app/thermo/mine").isEmpty)
            effects = bench.run(for: .seconds(2))
        } else if index == 1 {
            let sent = try bench.sent(effects)
            effects = try bench.reply(
                try #require(sent.first), .error(Refusal(.rateLimit, "later")))
        }
        #expect(try ids(effects) == [["Session001"]])
    }

    @Test("wait sixteen at most; the next gets what is known")
    func bounded() throws {
        var bench = try settled()
        let effects = bench.handle(.bus(Array(repeating: question, count: 17)))
        #expect(try ids(effects) == [["Session001"]])
        #expect(try bench.sent(effects).count == 1)
        let lost = bench.handle(.uplink(.lost("gone")))
        #expect(try ids(lost).count == 16)
    }

    @Test("are refused once the session is over, and gone from the store")
    func over() throws {
        var bench = try settled()
        let sent = try bench.sent(bench.handle(.bus([question])))
        _ = try grant(&bench, try #require(sent.first))
        #expect(bench.store.text.contains("Tablet0001"))
        bench.pass(.seconds(181))
        let later = try bench.sent(bench.handle(.bus([question])))
        let list = try #require(later.first { $0.body.name == "list" })
        let effects = try bench.reply(list, .error(Refusal(.invalidSession, "over")))
        let answer = try #require(effects.published("postern/app/thermo/mine").first)
        #expect(try JSONObject(parsing: answer).integer("code") == 209)
        #expect(!bench.store.text.contains("Tablet0001"))
    }

    @Test("keep no more of an endless answer than has room")
    func endless() throws {
        var bench = try settled()
        let sent = try bench.sent(bench.handle(.bus([question])))
        let user = try #require(bench.store.load().session).session.user
        var result = Reply.Result()
        result.sessions = try (0..<300).map { number in
            try session("Many\(100_000 + number)", user: user)
        }
        let effects = try bench.reply(try #require(sent.first), .result(result))
        #expect(try #require(try ids(effects).first).count == 100)
    }
}
