import AgentCore
import AgentCryptography
import Gate
import Sessions
import Testing
import Wire

/// A board under test: an agent, its store, both clocks, and the authority it talks to.
///
/// Every effect of every event is searched for every secret that was ever made.
struct Bench {
    static let start = Timestamp(milliseconds: 1_800_000_000_000)
    static let buildDate = Timestamp(milliseconds: 1_700_000_000_000)

    var settings = AgentSettings(
        name: "greenhouse", topicRoot: .standard, claimBase: ClaimURL.defaultBase,
        claimLifetime: .seconds(86_400), offline: nil, routes: RouteTable(),
        queueLimit: 100_000, queueReserve: 1000,
        version: "1.0", buildDate: Self.buildDate, processID: 42)
    var store: MemoryStore
    var agent: Agent
    var authority: TestAuthority
    let identity: BoardIdentity
    var wall = Self.start
    var monotonic = Duration.seconds(1000)
    var policy: Policy?
    /// Texts that must never be seen outside the store and sealed messages.
    var secrets: [String]

    init() throws {
        let cryptographer = Cryptographer()
        let (secret, key) = try cryptographer.makeDeviceKey()
        identity = BoardIdentity(
            installation: InstallationID(random: try cryptographer.random(16)),
            deviceSecret: secret, deviceKey: key)
        store = MemoryStore(identity)
        // One board on a bench is no fleet; see `StormTests` for those.
        settings.spread = .zero
        authority = try TestAuthority(board: identity)
        secrets = [
            Base64URL.encode(secret.reveal()), "secret-", "broker-password-", "eyJhbGciOi",
        ]
        agent = Self.agent(settings, try store.load(), nil, store)
    }

    var instant: Instant { Instant(wall: wall, monotonic: monotonic) }

    private static func agent(
        _ settings: AgentSettings, _ records: BoardRecords, _ policy: Policy?,
        _ store: MemoryStore
    ) -> Agent {
        Agent(
            settings: settings, cryptography: Cryptographer(), records: records,
            policy: policy, window: store.window, keys: store.keys, queue: store.queue)
    }

    /// Ends the agent without a word, and starts one on what is durable.
    mutating func restart() throws {
        agent = Self.agent(settings, try store.load(), policy, store)
    }

    /// The same after a crash that left sequences up to `last` given, and these not on disk.
    mutating func restart(after last: Int64, with given: [DeliveredPacket]) throws {
        var records = try store.load()
        records.lastSequence = last
        agent = Agent(
            settings: settings, cryptography: Cryptographer(), records: records,
            policy: policy, window: given, queue: store.queue)
    }

    /// Hands over an event, makes every commit durable and returns what was wanted.
    @discardableResult
    mutating func handle(_ event: AgentEvent) -> [AgentEffect] {
        let effects = agent.handle(event, at: instant)
        for effect in effects { perform(effect) }
        return effects
    }

    /// Does one effect as far as the store is concerned, and looks it through.
    mutating func perform(_ effect: AgentEffect) {
        if case .commit(let changes) = effect { store.commit(changes) }
        let text = effect.visibleText
        for secret in secrets where text.contains(secret) {
            Issue.record("an effect shows a secret: \(text)")
        }
    }

    mutating func pass(_ span: Duration) {
        wall = wall + span
        monotonic += span
    }

    /// Lets time pass up to `limit`, waking at each deadline that the agent names.
    @discardableResult
    mutating func run(for limit: Duration) -> [AgentEffect] {
        let end = monotonic + limit
        var effects: [AgentEffect] = []
        var turns = 0
        while let next = agent.nextDeadline(at: instant), next <= end {
            turns += 1
            guard turns < 10_000 else {
                Issue.record("the agent names deadlines without end")
                return effects
            }
            pass(max(next - monotonic, .zero))
            effects += handle(.deadline)
        }
        pass(end - monotonic)
        return effects + handle(.deadline)
    }
}

extension Bench {
    /// Opens a claim as `pair` does, and returns its secret.
    mutating func pair(fresh: Bool = false) throws -> SecretBytes {
        let effects = agent.handle(.control(fresh ? .pairNew : .pair, connection: 1), at: instant)
        var url: String?
        for effect in effects {
            if case .answer(_, let json) = effect {
                url = json.asObject?["url"]?.asString
            } else {
                perform(effect)
            }
        }
        let secret = try ClaimURL(try #require(url)).secret
        secrets.append(Base64URL.encode(secret.reveal()))
        for purpose in [ClaimPurpose.broker, .claim] {
            let key = try Cryptographer().derive(
                purpose, from: secret, board: identity.installation)
            secrets.append(Base64URL.encode(key.reveal()))
        }
        return secret
    }

    /// The uplink comes up: connected, subscribed.
    @discardableResult
    mutating func connect() -> [AgentEffect] {
        handle(.uplink(.connected)) + handle(.uplink(.ready))
    }

    /// Paired, connected, and provisioned for `name`.
    @discardableResult
    mutating func provision(_ name: String = "ann") throws -> [AgentEffect] {
        handle(.started)
        handle(.busConnected(resumed: false))
        let claim = try pair()
        connect()
        return handle(.inbox(try authority.seal(
            .provision(try authority.provision(name, at: wall)), claim: claim, at: wall)))
    }

    /// What an effect list sends to the authority, opened.
    func sent(_ effects: [AgentEffect]) throws -> [BoardMessage] {
        try effects.compactMap { effect in
            guard case .send(let topic, let payload) = effect else { return nil }
            #expect(topic == ContractTopic.outbox(identity.installation).text(under: .standard))
            return try authority.open(payload, topic: topic)
        }
    }

    /// Answers a heartbeat with the session as it stands.
    @discardableResult
    mutating func answer(
        _ message: BoardMessage, now: Timestamp? = nil,
        change: (inout Reply.Result) -> Void = { _ in }
    ) throws -> [AgentEffect] {
        let held = try #require(try store.load().session)
        var result = Reply.Result()
        result.session = held.session
        result.user = held.user
        change(&result)
        return try reply(message, .result(result), now: now)
    }

    @discardableResult
    mutating func reply(
        _ message: BoardMessage, _ outcome: Reply.Outcome, now: Timestamp? = nil
    ) throws -> [AgentEffect] {
        let now = now ?? wall
        return handle(.inbox(try authority.seal(
            .reply(Reply(re: message.id, now: now, outcome: outcome)), at: now)))
    }
}
