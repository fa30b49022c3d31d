import AgentCore
import Gate
import Sessions
import Testing
import Wire

extension BoardMessage {
    /// What a heartbeat tells of the board.
    var report: BoardReport? {
        if case .authenticate(_, _, let report) = body { report } else { nil }
    }
}

extension Bench {
    /// Lets time pass until a heartbeat goes out.
    mutating func nextHeartbeat() throws -> BoardMessage {
        var sent: [BoardMessage] = []
        for _ in 0..<400 where sent.isEmpty {
            sent = try self.sent(run(for: .seconds(1))).filter { $0.body.name == "authenticate" }
        }
        return try #require(sent.first)
    }
}

@Suite("Heartbeat's report")
struct HeartbeatReportTests {
    private func policy(line: Int) -> Policy {
        Policy(allowsByDefault: true, apps: [:], rules: [
            Rule(
                id: .policy(line: line), app: nil, className: ClassName("Reading"), allow: [],
                fields: nil, maxBytes: nil, rate: nil),
        ])
    }

    private func rules(line: Int) -> BoardReport.Rules? {
        PolicyDocument(policy(line: line)).map(BoardReport.Rules.file)
    }

    @Test("tells what waits, and what was refused by which rule")
    func numbers() throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        let run = try #require(first.report?.run)
        #expect(first.report == BoardReport(
            queue: .init(messages: 0, bytes: 0, oldest: nil), refused: 0, refusals: [],
            rules: .noFile, run: run))
        try bench.answer(first)
        bench.handle(.bus([
            .write("mad", "create/_User", "1"), .write("mad", "create/_User", "2"),
        ]))
        bench.handle(.queue(QueueState(messages: 5, bytes: 700, oldest: Bench.start)))
        bench.handle(.forwarded(41))
        bench.handle(.forwarded(40))
        let report = try #require(try bench.nextHeartbeat().report)
        let age = try #require(report.queue.oldestAge)
        #expect(age > 0)
        // The outbox has grown since the start, so it will be full some day.
        let hours = try #require(report.queue.hoursLeft)
        #expect(report == BoardReport(
            queue: .init(
                messages: 5, bytes: 700, oldest: Bench.start, oldestAge: age, hoursLeft: hours),
            refused: 2,
            refusals: [RefusalCount(app: "mad", rule: "builtin:protected-class", count: 2)],
            lastForwarded: 41, run: run))
    }

    @Test("health says once a minute, too, how long the oldest message has waited")
    func age() throws {
        var bench = try Bench()
        try bench.answer(try #require(try bench.sent(try bench.provision()).last))
        bench.handle(.busConnected(resumed: false))
        bench.handle(.queue(QueueState(messages: 5, bytes: 700, oldest: Bench.start)))
        let ages = try bench.run(for: .seconds(200)).published(BusTopic.health).map {
            try JSONObject(parsing: $0).object("queue").integer("oldestAge")
        }
        #expect(ages.count >= 3)
        #expect(zip(ages, ages.dropFirst()).allSatisfy { $0 < $1 && $1 <= $0 + 61 })
        #expect(try #require(ages.last) >= 120)
        let status = try #require(bench.agent.status(at: bench.instant).asObject)
        let queue = try #require(status["queue"]?.asObject)
        #expect(try #require(queue["oldestAge"]?.asInteger) >= 199)
        #expect(status["lastForwarded"] == .null)
    }

    @Test("tells the rules until it is answered, when they change, and after each connect")
    func rulesOnce() throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        #expect(first.report?.rules == .noFile)
        // Repeated, it is not answered yet.
        let again = try bench.nextHeartbeat()
        #expect(again.id == first.id && again.report?.rules == .noFile)
        try bench.answer(again)
        let second = try bench.nextHeartbeat()
        #expect(second.report != nil && second.report?.rules == nil)
        try bench.answer(second)
        bench.handle(.rules(policy(line: 4), RouteTable()))
        let third = try bench.nextHeartbeat()
        #expect(third.report?.rules == rules(line: 4))
        try bench.answer(third)
        let fourth = try bench.nextHeartbeat()
        #expect(fourth.report?.rules == nil)
        try bench.answer(fourth)
        bench.handle(.uplink(.lost("gone")))
        bench.run(for: .seconds(70))
        _ = bench.connect()
        #expect(try bench.nextHeartbeat().report?.rules == rules(line: 4))
    }

    @Test("tells the rules again where an answer may be to the ones before")
    func changedMeanwhile() throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        bench.handle(.rules(policy(line: 4), RouteTable()))
        let again = try bench.nextHeartbeat()
        #expect(again.id == first.id)
        #expect(again.report?.rules == rules(line: 4))
        try bench.answer(first)
        let next = try bench.nextHeartbeat()
        #expect(next.id != first.id && next.report?.rules == rules(line: 4))
        try bench.answer(next)
        #expect(try bench.nextHeartbeat().report?.rules == nil)
    }

    @Test("tells the rules again after a refusal")
    func refused() throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        try bench.reply(first, .error(Refusal(.forbidden, "not now")))
        #expect(try bench.nextHeartbeat().report?.rules == .noFile)
    }

    @Test("of rules that are too many says that there are some")
    func tooMany() throws {
        var bench = try Bench()
        let first = try #require(try bench.sent(try bench.provision()).last)
        try bench.answer(first)
        let many = Policy(
            allowsByDefault: true, apps: [:], rules: (1...300).flatMap { policy(line: $0).rules })
        bench.handle(.rules(many, RouteTable()))
        #expect(try bench.nextHeartbeat().report?.rules == .omitted)
    }
}

@Suite("Status numbers")
struct StatusNumberTests {
    private struct Told: Equatable {
        let queue: Int64?
        let refused: Int64?
    }

    private func told(_ effects: [AgentEffect]) -> [Told] {
        effects.compactMap { effect in
            guard case .publishStatus(_, let status) = effect else { return nil }
            return Told(queue: status.queue, refused: status.refused)
        }
    }

    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    private func refuse(_ bench: inout Bench) -> [AgentEffect] {
        bench.handle(.bus([.write("mad", "create/_User", "1")]))
    }

    @Test("are told with the first status of a connection, and not by its last will")
    func connected() throws {
        var bench = try settled()
        bench.handle(.queue(QueueState(messages: 4, bytes: 100)))
        bench.handle(.uplink(.lost("gone")))
        let login = try #require(bench.run(for: .seconds(70)).logins.first)
        let will = try BoardStatus(parsing: #require(login.will).payload)
        #expect(will.queue == nil && will.refused == nil)
        #expect(told(bench.connect()) == [Told(queue: 4, refused: 0)])
        #expect(told(bench.handle(.stop)) == [Told(queue: 4, refused: 0)])
    }

    @Test("follow a refusal at once, and then at most every ten seconds")
    func refusals() throws {
        var bench = try settled()
        #expect(told(refuse(&bench)) == [Told(queue: 0, refused: 1)])
        #expect(told(refuse(&bench)).isEmpty)
        bench.pass(.seconds(5))
        #expect(told(refuse(&bench)).isEmpty)
        #expect(told(bench.run(for: .milliseconds(4999))).isEmpty)
        #expect(told(bench.run(for: .milliseconds(1))) == [Told(queue: 0, refused: 3)])
        #expect(told(bench.run(for: .seconds(60))).isEmpty)
        #expect(told(refuse(&bench)) == [Told(queue: 0, refused: 4)])
    }

    @Test("follow the queue once it has stood for a second")
    func queue() throws {
        var bench = try settled()
        // A message that comes and goes is no news.
        #expect(told(bench.handle(.queue(QueueState(messages: 1, bytes: 9)))).isEmpty)
        bench.pass(.milliseconds(900))
        #expect(told(bench.handle(.queue(QueueState()))).isEmpty)
        #expect(told(bench.run(for: .seconds(20))).isEmpty)
        bench.handle(.queue(QueueState(messages: 1, bytes: 9)))
        bench.pass(.milliseconds(500))
        #expect(told(bench.handle(.queue(QueueState(messages: 2, bytes: 18)))).isEmpty)
        #expect(told(bench.run(for: .milliseconds(500))) == [Told(queue: 2, refused: 0)])
        bench.handle(.queue(QueueState(messages: 3, bytes: 27)))
        #expect(told(bench.run(for: .milliseconds(9999))).isEmpty)
        #expect(told(bench.run(for: .milliseconds(1))) == [Told(queue: 3, refused: 0)])
    }

    @Test("wake nobody while nothing changes, nor without a connection")
    func quiet() throws {
        var bench = try settled()
        bench.run(for: .seconds(30))
        let asleep = bench.agent.nextDeadline(at: bench.instant)
        bench.handle(.queue(QueueState(messages: 1, bytes: 9)))
        bench.handle(.queue(QueueState()))
        bench.run(for: .seconds(6))
        #expect(bench.agent.nextDeadline(at: bench.instant) == asleep)
        bench.handle(.uplink(.lost("gone")))
        #expect(told(refuse(&bench)).isEmpty)
    }

    @Test("leave the time since when the board is up as it was")
    func since() throws {
        var bench = try settled()
        let start = bench.wall
        bench.pass(.seconds(100))
        let effects = refuse(&bench)
        let since = effects.compactMap { effect in
            if case .publishStatus(_, let status) = effect { status.since } else { nil }
        }
        #expect(since == [start])
    }
}
