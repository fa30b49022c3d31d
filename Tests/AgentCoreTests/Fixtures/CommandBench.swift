import AgentCore
import Gate
import Sessions
import Testing
import Wire

/// A board whose policy lets people command the heater, and its authority.
struct CommandBench {
    static let session = "Session001"

    var bench: Bench
    /// Of the last effects: the commands on their way to the local broker.
    private(set) var handed: [(id: MessageID, publication: BusPublication)] = []
    private(set) var results: [BoardMessage] = []
    private(set) var effects: [AgentEffect] = []

    init(_ apps: [String: AppLimit]? = nil) throws {
        bench = try Bench()
        var limits: [AppName: AppLimit] = [:]
        let usual = ["heater": AppLimit(commands: CommandRules(rate: try Rate("1000/s")))]
        for (name, limit) in apps ?? usual { limits[try #require(AppName(name))] = limit }
        bench.policy = Policy(allowsByDefault: true, apps: limits, rules: [])
        try bench.restart()
        try bench.provision()
        try answerHeartbeats(bench.handle(.deadline))
    }

    /// Answers what the board asks, so that its clock is set and nothing else waits.
    private mutating func answerHeartbeats(_ effects: [AgentEffect]) throws {
        for message in try bench.sent(effects) {
            if case .authenticate = message.body { try bench.answer(message) }
        }
    }

    var now: Timestamp { bench.wall }

    mutating func command(
        _ id: MessageID = .fresh(), app: String = "heater", session: String = session,
        in wait: Duration = .seconds(60), _ content: JSONValue = .object(["celsius": .integer(21)])
    ) throws -> [UInt8] {
        try bench.authority.seal(
            .command(BoardCommand(
                session: try #require(ObjectID(session)), app: app,
                deadline: Timestamp(seconds: (now + wait).seconds) ?? now, content: content)),
            id: id, at: now)
    }

    mutating func handle(_ event: AgentEvent) throws { try note(bench.handle(event)) }
    mutating func run(for span: Duration) throws { try note(bench.run(for: span)) }

    mutating func note(_ effects: [AgentEffect]) throws {
        self.effects = effects
        handed = effects.compactMap { effect in
            if case .publishCommand(let id, let publication) = effect { (id, publication) } else {
                nil
            }
        }
        results = try bench.sent(effects).filter { message in
            if case .commandResult = message.body { true } else { false }
        }
    }

    /// Sends a command as the authority does. Returns its id.
    @discardableResult
    mutating func send(
        _ id: MessageID = .fresh(), app: String = "heater", session: String = session,
        in wait: Duration = .seconds(60), _ content: JSONValue = .object(["celsius": .integer(21)])
    ) throws -> MessageID {
        try handle(.inbox(try command(id, app: app, session: session, in: wait, content)))
        return id
    }

    /// The same, until the local broker has it for its app.
    mutating func deliver(in wait: Duration = .seconds(60)) throws -> MessageID {
        let id = try send(in: wait)
        try handle(.commandPublished(id, .taken))
        return id
    }

    /// Returns the code of the rejection. Nil: the agent says nothing.
    @discardableResult
    mutating func answer(
        _ id: MessageID, _ text: String = #"{"ok":true}"#, by app: String = "heater"
    ) throws -> Int64? {
        try handle(.bus([.write(app, "answer/\(id)", text)]))
        let notice = try effects.published("postern/app/\(app)/rejected").last.map {
            try JSONObject(parsing: $0)
        }
        #expect(notice == nil || notice?.members["rule"] == .string("builtin:command"))
        #expect(notice == nil || notice?.members["op"] == .string("answer"))
        return try notice?.integer("code")
    }

    /// The states of the results that were just sent.
    var states: [String] {
        results.map { message in
            guard case .commandResult(let result) = message.body else { return "" }
            return switch result.state {
            case .delivered(let isUncertain): isUncertain ? "uncertain" : "delivered"
            case .answered(let answer): "answered \(answer.text)"
            case .refused(let refusal, let rule, let field):
                ["refused \(refusal.code)", rule, field].compactMap(\.self)
                    .joined(separator: " ")
            case .expired(let delivered): "expired \(delivered ? "there" : "away")"
            }
        }
    }

    /// The authority replies to a result.
    mutating func confirm(_ refusal: Refusal? = nil) throws {
        let message = try #require(results.last)
        try note(bench.reply(message, refusal.map { .error($0) } ?? .result(Reply.Result())))
    }

    /// Starts the agent again on what is durable, and connects it everywhere.
    mutating func restart() throws {
        try bench.restart()
        bench.handle(.started)
        var effects = bench.handle(.busConnected(resumed: true))
        effects += bench.connect()
        try answerHeartbeats(effects)
        try note(effects)
    }

    var kept: Int { get throws { try bench.store.load().commands.all.count } }
    /// Counters and waiting commands, from the agent's figures.
    var figures: AgentMetrics { bench.agent.figures(at: bench.instant) }
}
