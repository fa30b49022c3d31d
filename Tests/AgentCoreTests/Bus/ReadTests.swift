import AgentCore
import Sessions
import Testing
import Wire

/// What an authority that breaks its own contract may try to have read out on the board.
@Suite("Reads")
struct ReadTests {
    private static let queries = BusQuery.allCases

    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    private func open(_ session: Session, as id: String? = nil) throws -> Session {
        Session(
            objectID: try id.map { try #require(ObjectID($0)) } ?? session.objectID,
            user: session.user, restricted: false, createdWith: session.createdWith,
            installationID: session.installationID, createdAt: session.createdAt,
            expiresAt: session.expiresAt)
    }

    /// Everything that programs on the board are told: three reads and the retained session.
    private func readOut(_ bench: inout Bench) throws -> String {
        var effects = bench.handle(.bus(Self.queries.map {
            .write("thermo", "get/\($0)", "", response: "mine")
        }))
        effects += bench.run(for: .seconds(11))
        let answers = effects.published("postern/app/thermo/mine")
        #expect(answers.count == 3)
        return answers.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }

    private func expectNothing(_ bench: inout Bench, of id: String = "Login00001") throws {
        let text = try readOut(&bench)
        #expect(text.contains("Session001"))
        #expect(!text.contains("\"restricted\":false"))
        #expect(!text.contains(id))
        #expect(!bench.store.text.contains("\"restricted\":false"))
    }

    @Test("hold no unrestricted session of a heartbeat's, a refresh's or an update's answer",
          arguments: ["authenticate", "refresh", "update", "user"])
    func answers(way: String) throws {
        var bench = try settled()
        let held = try #require(bench.store.load().session)
        let evil = try open(held.session)
        switch way {
        case "update":
            bench.handle(.inbox(try bench.authority.seal(
                .updated(sequence: 200, session: evil, scope: nil), at: bench.wall)))
        case "user":
            bench.pass(.seconds(200))
            let beat = try #require(try bench.sent(bench.handle(.deadline)).first)
            try bench.answer(beat) { result in
                result.user = UserProfile(
                    objectID: held.user.objectID, username: "ann", custom: [
                        "language": .string("en"), "login": evil.json, "all": .array([evil.json]),
                    ])
            }
        default:
            let due = way == "refresh" ? Duration.seconds(3500) : .seconds(200)
            for message in try bench.sent(bench.run(for: due)) where message.body.name == way {
                try bench.answer(message) { result in
                    result.session = evil
                    result.accessToken = held.tokens.access
                    result.refreshToken = RefreshToken("rt:secret-next")
                }
            }
        }
        try expectNothing(&bench)
    }

    @Test("hold no unrestricted session of a list, not even under this board's own id")
    func list() throws {
        var bench = try settled()
        let effects = bench.handle(.bus([.write("thermo", "get/sessions", "", response: "a")]))
        let question = try #require(try bench.sent(effects).first)
        let own = try #require(bench.store.load().session).session
        var result = Reply.Result()
        result.sessions = [try open(own), try open(own, as: "Login00001"), own]
        let answer = try #require(
            try bench.reply(question, .result(result)).published("postern/app/thermo/a").first)
        #expect(try JSONValue(parsing: answer) == .object([
            "kind": .string("sessions"), "sessions": .array([own.json]),
        ]))
        try expectNothing(&bench)
    }

    @Test("hold no unrestricted session of a provisioning: it is refused whole")
    func provisioning() throws {
        var bench = try settled()
        var evil = try bench.authority.provision(session: "Login00001", sequence: 300)
        evil.session = try open(evil.session)
        let effects = bench.handle(.inbox(try bench.authority.seal(
            .provision(evil), at: bench.wall)))
        #expect(try bench.sent(effects).map(\.body.name) == ["rejected"])
        try expectNothing(&bench)
    }

    @Test("name their kind, whatever custom fields the authority adds", arguments: queries)
    func kinds(query: BusQuery) throws {
        var bench = try settled()
        bench.pass(.seconds(200))
        let beat = try #require(try bench.sent(bench.handle(.deadline)).first)
        let user = try #require(bench.store.load().session).user
        try bench.answer(beat) { result in
            let custom: [String: JSONValue] = ["kind": .string("error"), "room": .string("attic")]
            result.session?.custom = custom
            result.user = UserProfile(
                objectID: user.objectID, username: "ann", custom: custom)
        }
        bench.handle(.uplink(.lost("gone")))
        let effects = bench.handle(.bus([.write("thermo", "get/\(query)", "", response: "a")]))
        let answer = try JSONObject(parsing: try #require(
            effects.published("postern/app/thermo/a").first))
        #expect(try answer.string("kind") == query.rawValue)
        #expect(query == .sessions || answer.members["room"] == .string("attic"))
    }

    @Test("of this board's session by its id are its session; another id is not found")
    func byID() throws {
        var bench = try settled()
        let effects = bench.handle(.bus(["Session001", "Tablet0001"].map {
            .write("thermo", "get/session/\($0)", "", response: "a")
        }))
        let answers = try effects.published("postern/app/thermo/a").map {
            try JSONObject(parsing: $0)
        }
        #expect(try answers.map { try $0.string("kind") } == ["session", "error"])
        #expect(try answers[0].string("objectId") == "Session001")
        #expect(try answers[1].integer("code") == 101)
        #expect(try answers[1].string("rule") == "builtin:topic")
        var none = try Bench()
        none.handle(.started)
        let refused = none.handle(.bus([
            .write("thermo", "get/session/Session001", "", response: "a"),
        ]))
        let refusal = try #require(refused.published("postern/app/thermo/a").first)
        #expect(try JSONObject(parsing: refusal).integer("code") == 206)
    }

    @Test("hold no token that came in a custom field, however deep")
    func tokens() throws {
        var bench = try settled()
        let held = try #require(bench.store.load().session)
        let leak = "r:0123456789abcdef0123456789abcdef"
        bench.secrets += [leak, "0123456789abcdef"]
        bench.pass(.seconds(200))
        let beat = try #require(try bench.sent(bench.handle(.deadline)).first)
        let custom: [String: JSONValue] = [
            "note": .string(leak), "deep": .array([.object(["sessionToken": .string(leak)])]),
            "_session_token": .string(leak), "other": .object(["x": .array([.string(leak)])]),
            "room": .string("attic"),
        ]
        try bench.answer(beat) { result in
            result.session?.custom = custom
            result.user = UserProfile(
                objectID: held.user.objectID, username: "ann", custom: custom)
        }
        let text = try readOut(&bench)
        #expect(text.contains("attic"))
        #expect(!text.contains("0123456789abcdef"))
    }
}
