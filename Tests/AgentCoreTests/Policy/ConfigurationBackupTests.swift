import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Backup of the rules")
struct ConfigurationBackupTests {
    private static let rules = BoardConfiguration(
        policy: "default = \"deny\"\n", routes: "[[route]]\n")
    private static let others = BoardConfiguration(policy: "default = \"allow\"\n", routes: nil)

    /// Provisioned, with the first heartbeat answered. `rules`: nil with the backup off.
    private func settled(
        _ rules: BoardConfiguration?
    ) throws -> (bench: Bench, sent: [BoardMessage]) {
        var bench = try Bench()
        bench.settings.backup = rules
        try bench.restart()
        var sent = try bench.sent(try bench.provision())
        let heartbeat = try #require(sent.first { $0.body.name == "authenticate" })
        sent += try bench.sent(try bench.answer(heartbeat))
        return (bench, sent.filter { $0.body.name.hasSuffix("Configuration") })
    }

    private func configurations(
        _ bench: Bench, _ effects: [AgentEffect]
    ) throws -> [BoardConfiguration] {
        try bench.sent(effects).compactMap { message in
            if case .saveConfiguration(_, let rules) = message.body { rules } else { nil }
        }
    }

    /// Answers with a result that may have rules.
    private func confirm(
        _ bench: inout Bench, _ message: BoardMessage, _ rules: BoardConfiguration? = nil
    ) throws -> [AgentEffect] {
        var result = Reply.Result()
        result.configuration = rules
        return try bench.reply(message, .result(result))
    }

    private func restored(_ effects: [AgentEffect]) -> [BoardConfiguration] {
        effects.compactMap { if case .restore(let rules) = $0 { rules } else { nil } }
    }

    @Test("sends and asks nothing while it is off")
    func off() throws {
        var (bench, sent) = try settled(nil)
        #expect(sent.isEmpty)
        bench.handle(.rules(nil, RouteTable(), texts: Self.rules))
        let later = try bench.sent(bench.run(for: .seconds(7200)))
        #expect(later.allSatisfy { !$0.body.name.hasSuffix("Configuration") })
        #expect(bench.agent.status(at: bench.instant).asObject?["backup"] == .string("off"))
    }

    @Test("sends the rules once, also over a restart")
    func once() throws {
        var (bench, sent) = try settled(Self.rules)
        #expect(sent.map(\.body.name) == ["saveConfiguration"])
        let status = bench.agent.status(at: bench.instant).asObject
        #expect(status?["backup"] == .string("not sent yet"))
        #expect(try confirm(&bench, sent[0]).commits.isEmpty == false)
        #expect(bench.agent.status(at: bench.instant).asObject?["backup"] == .string("sent"))
        #expect(try configurations(bench, bench.run(for: .seconds(7200))).isEmpty)
        try bench.restart()
        #expect(try configurations(bench, bench.handle(.started) + bench.connect()).isEmpty)
        #expect(try configurations(bench, bench.run(for: .seconds(300))).isEmpty)
    }

    @Test("repeats what was not answered under its id")
    func repeated() throws {
        var (bench, sent) = try settled(Self.rules)
        let first = try #require(sent.first)
        bench.handle(.rules(nil, RouteTable(), texts: Self.others))
        let again = try bench.sent(bench.run(for: .seconds(50))).filter {
            $0.body.name == "saveConfiguration"
        }
        #expect(!again.isEmpty && again.allSatisfy { $0.id == first.id })
        // The answer is about the rules that were sent, and the present ones follow.
        let after = try confirm(&bench, first) + bench.run(for: .seconds(60))
        let rules = try configurations(bench, after)
        #expect(!rules.isEmpty && rules.allSatisfy { $0 == Self.others })
    }

    @Test("sends changes once a minute at most, and the newest")
    func pace() throws {
        var (bench, sent) = try settled(Self.rules)
        _ = try confirm(&bench, try #require(sent.first))
        var effects: [AgentEffect] = []
        for _ in 0..<5 {
            effects += bench.handle(.rules(nil, RouteTable(), texts: .none))
            effects += bench.handle(.rules(nil, RouteTable(), texts: Self.others))
            effects += bench.run(for: .seconds(5))
        }
        #expect(try configurations(bench, effects).isEmpty)
        #expect(try configurations(bench, bench.run(for: .seconds(36))) == [Self.others])
    }

    @Test("deletes a copy whose confirmation was lost")
    func unconfirmed() throws {
        var (bench, sent) = try settled(Self.rules)
        #expect(sent.count == 1)
        bench.settings.backup = nil
        try bench.restart()
        let effects = bench.handle(.started) + bench.connect()
        #expect(try configurations(bench, effects) == [.none])
    }

    @Test("deletes the copy when it is turned off")
    func deleted() throws {
        var (bench, sent) = try settled(Self.rules)
        _ = try confirm(&bench, try #require(sent.first))
        bench.settings.backup = nil
        try bench.restart()
        let effects = bench.handle(.started) + bench.connect()
        let message = try #require(try bench.sent(effects).first {
            $0.body.name == "saveConfiguration"
        })
        #expect(try configurations(bench, effects) == [.none])
        _ = try confirm(&bench, message)
        #expect(try configurations(bench, bench.run(for: .seconds(7200))).isEmpty)
    }

    @Test("leaves the copy when there are no rules any more")
    func gone() throws {
        var (bench, sent) = try settled(Self.rules)
        _ = try confirm(&bench, try #require(sent.first))
        bench.settings.backup = BoardConfiguration.none
        try bench.restart()
        let effects = bench.handle(.started) + bench.connect() + bench.run(for: .seconds(7200))
        let names = try bench.sent(effects).map(\.body.name)
        #expect(!names.contains { $0.hasSuffix("Configuration") })
    }

    @Test("sends nothing while the policy file is lost")
    func lost() throws {
        var (bench, sent) = try settled(Self.rules)
        _ = try confirm(&bench, try #require(sent.first))
        bench.handle(.rules(
            Policy(allowsByDefault: false, apps: [:], rules: []), RouteTable(),
            texts: Self.rules))
        bench.settings.backup = BoardConfiguration.none
        try bench.restart()
        #expect(bench.agent.isPolicyLost)
        var effects = bench.handle(.started) + bench.connect()
        if let heartbeat = try bench.sent(effects).last { effects += try bench.answer(heartbeat) }
        effects += bench.run(for: .seconds(60))
        #expect(try bench.sent(effects).allSatisfy { !$0.body.name.hasSuffix("Configuration") })
    }

    @Test("says that rules are too large, and does not send them")
    func large() throws {
        let text = String(repeating: "#", count: BoardConfiguration.sizeLimit)
        var bench = try Bench()
        bench.settings.backup = BoardConfiguration(policy: text, routes: nil)
        try bench.restart()
        let effects = try bench.provision()
        #expect(try configurations(bench, effects).isEmpty)
        #expect(bench.agent.status(at: bench.instant).asObject?["backup"] == .string("too large"))
        try bench.restart()
        #expect(bench.handle(.started).logs.contains { $0.contains("more than 65536 bytes") })
    }

    @Test("asks for the replaced board's rules after a heartbeat, an update, and each hour")
    func asks() throws {
        var (bench, sent) = try settled(BoardConfiguration.none)
        #expect(sent.map(\.body.name) == ["getConfiguration"])
        #expect(try restored(confirm(&bench, sent[0])).isEmpty)
        let session = try #require(try bench.store.load().session).session
        let told = try bench.sent(bench.handle(.inbox(try bench.authority.seal(
            .updated(sequence: 101, session: session, scope: nil), at: bench.wall))))
        let asked = try #require(told.first { $0.body.name == "getConfiguration" })
        #expect(try restored(confirm(&bench, asked, Self.rules)) == [Self.rules])
        let after = bench.handle(.rules(nil, RouteTable(), texts: Self.rules))
        #expect(try configurations(bench, after) == [Self.rules])
        // A board with rules takes no others.
        #expect(try restored(confirm(&bench, asked, Self.others)).isEmpty)
    }

    @Test("asks nothing with rules of its own")
    func own() throws {
        var (bench, sent) = try settled(Self.rules)
        _ = try confirm(&bench, try #require(sent.first))
        var effects: [AgentEffect] = []
        for _ in 0..<30 {
            let heartbeat = try bench.nextHeartbeat()
            effects += try bench.answer(heartbeat)
        }
        #expect(try bench.sent(effects).allSatisfy { $0.body.name != "getConfiguration" })
    }
}
