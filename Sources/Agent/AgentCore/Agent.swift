package import Gate
package import Sessions
package import Wire

/// The agent's settings, fixed at its start.
package struct AgentSettings: Sendable {
    package var name: String
    package var topicRoot: TopicRoot
    /// The claim page, or `postern://claim`.
    package var claimBase: String
    package var claimLifetime: Duration
    /// How long the board itself allows a session without contact. Nil: until the session
    /// expires.
    package var offline: Duration?
    /// The routes for foreign topics at the start.
    package var routes: RouteTable
    /// The most bytes the outbox may hold.
    package var queueLimit: Int64
    /// Bytes that stay free for messages that are already on their way when reading stops.
    package var queueReserve: Int64
    /// The maximum age of a queued write.
    package var queueAge: Duration
    package var version: String
    package var buildDate: Timestamp
    package var processID: Int64
    /// If true, a full outbox drops its oldest messages. Otherwise the agent stops reading the
    /// bus.
    package var dropsOldest = false
    /// The Home Assistant discovery messages. Nil: the agent sends none.
    package var discovery: HomeAssistantDiscovery?
    /// The period over which this board randomly delays actions that a whole fleet would do at
    /// once. Nil: the authority's value.
    package var spread: Duration?
    /// The rules in force at the start, to send to the authority. Nil: it gets none.
    package var backup: BoardConfiguration?

    package init(
        name: String, topicRoot: TopicRoot, claimBase: String, claimLifetime: Duration,
        offline: Duration?, routes: RouteTable, queueLimit: Int64, queueReserve: Int64,
        queueAge: Duration = .seconds(14 * 86_400), version: String, buildDate: Timestamp,
        processID: Int64
    ) {
        self.name = name
        self.topicRoot = topicRoot
        self.claimBase = claimBase
        self.claimLifetime = claimLifetime
        self.offline = offline
        self.routes = routes
        self.queueLimit = queueLimit
        self.queueReserve = queueReserve
        self.queueAge = queueAge
        self.version = version
        self.buildDate = buildDate
        self.processID = processID
    }
}

/// The board's side of Postern. It takes an event and an instant, and returns effects.
///
/// The agent opens, judges and remembers. It reads no clock, no file and no socket. If an effect
/// announces something that must be durable, its `commit` comes before that effect.
///
/// Its state is in parts. Each part is a struct in the folder of its concept, and changes its own
/// variables only. Files such as `AgentBus.swift` have the agent's methods for a concept.
package struct Agent: Sendable {
    let settings: AgentSettings
    let cryptography: any BoardCryptography
    var records: BoardRecords
    var clock: BoardClock
    var rules: Rules
    var session: LocalSession
    var inbox = InboxTally()
    var uplink = Uplink()
    var joining: Joining
    var requests = Requests()
    var bus: Bus
    var commands: Commands
    var outbox: OutboxView
    var backup: ConfigurationBackup
    /// The effects that the current call of `handle` will return.
    private var effects: [AgentEffect] = []

    /// `window` holds the last accepted packets of the bus, `keys` those of the last writes, both
    /// from the store.
    package init(
        settings: AgentSettings, cryptography: any BoardCryptography, records: BoardRecords,
        policy: Policy?, window: [DeliveredPacket], keys: [KeptKey] = [], queue: QueueState
    ) {
        self.settings = settings
        self.cryptography = cryptography
        self.records = records
        rules = Rules(
            policy: policy, hadPolicy: records.memory.hasPolicy,
            scope: Self.scope(of: records.session), routes: settings.routes)
        outbox = OutboxView(queue: queue)
        clock = BoardClock(buildDate: settings.buildDate, floor: records.memory.floor)
        session = LocalSession(life: Self.life(of: records))
        joining = Joining(asksFirst: records.claim == nil)
        bus = Bus(window: window, keys: keys)
        self.records.commands.started()
        commands = Commands()
        backup = ConfigurationBackup(settings.backup, cryptography)
    }

    /// Whether the session's record cannot be read. Then writes wait until the board is paired
    /// again.
    package var isUnreadable: Bool { records.isUnreadable }

    /// Whether every write is refused because the policy file is missing.
    package var isPolicyLost: Bool { rules.isPolicyLost }

    /// Takes one event and returns the effects for it, in order. The caller carries them out.
    package mutating func handle(_ event: AgentEvent, at instant: Instant) -> [AgentEffect] {
        effects.removeAll(keepingCapacity: true)
        startClaimWhenClockIsSet(at: instant)
        switch event {
        case .started: start(at: instant)
        case .deadline: outbox.settle()
        case .busConnected(let resumed): busConnected(resumed: resumed, at: instant)
        case .busLost: bus.lost()
        case .commandPublished(let id, let outcome):
            commandPublished(id, outcome, at: instant)
        case .bus(let messages), .strays(let messages): judge(messages, at: instant)
        case .uplink(let event): handle(event, at: instant)
        case .inbox(let payload): receive(payload, at: instant)
        case .busBroker(let dropped, let stored):
            busBrokerTold(dropped: dropped, stored: stored)
        case .queue(let state): queueChanged(state, at: instant)
        case .forwarded(let number): outbox.forwarded(number)
        case .control(let request, let connection):
            answer(request, connection, at: instant)
        case .rules(let policy, let routes, let texts):
            adopt(policy, routes, at: instant)
            backUp(texts)
        case .stop: stop(at: instant)
        }
        if case .stop = event { return effects }
        keepTime(at: instant)
        return effects
    }

    /// The monotonic time at which the agent needs a `deadline` event. Nil: it waits for nothing.
    package func nextDeadline(at instant: Instant) -> Duration? {
        [
            uplink.retryAt, requests.nextDeadline, sessionDeadline(at: instant),
            healthDeadline, requests.waits.nextDeadline, signOutDeadline,
            session.readers.nextDeadline, refusalDeadline, expiryDeadline(at: instant),
            lossDeadline, statusDeadline, commandDeadline(at: instant),
            saveDeadline(at: instant),
        ].compactMap(\.self).min()
    }

    /// Does everything that is due after any event, and publishes the changes.
    private mutating func keepTime(at instant: Instant) {
        publishSessionIfChanged(at: instant)
        connectIfDue(at: instant)
        sendDueRequests(at: instant)
        saveConfigurationIfDue(at: instant)
        sendSignOutIfDue(at: instant)
        keepCommands(at: instant)
        answerLateCommands(at: instant)
        answerLateReaders(at: instant)
        summarizeRefusals(due: instant.monotonic)
        expireQueue(at: instant)
        steerReading(at: instant)
        tellLossesIfDue(at: instant)
        tellNumbersIfDue(at: instant)
        publishHealthIfDue(at: instant)
    }

    private mutating func start(at instant: Instant) {
        requests.waits.begin()
        bus.loadKeys(at: instant.monotonic)
        publishSessionIfChanged(at: instant)
        if records.isUnreadable {
            let login = records.trust != nil ? "" : "end it with `postern sessions revoke` and "
                + "`postern boards forget-revocation`, because the broker login is lost; "
            emit(.log(.error, "the session cannot be read: \(login)"
                + "run `postern-agent pair` and claim this board again"))
        } else if case .over(let end) = session.life {
            emit(.log(.info, "the last session has ended (\(end.rawValue)): \(end.help)"))
        } else if records.session == nil, records.join == nil {
            emit(.log(.info, "not provisioned: run `postern-agent pair` and claim this board"))
        }
        judgePolicyAtStart()
        logBackup()
        uplink.retry(at: instant.monotonic + spreadWait(at: instant))
        bus.health.changed()
    }

    private mutating func stop(at instant: Instant) {
        giveBackCommands()
        if uplink.isReady { publishStatus(up: false, at: instant) }
        summarizeRefusals(due: nil)
        publishHealth(up: false, at: instant)
        emit(.disconnectUplink)
        emit(.exit)
    }

    /// Applies new rules before messages of new routes arrive. Keeps rate limit buckets and
    /// counters.
    private mutating func adopt(
        _ policy: Policy?, _ routes: RouteTable, at instant: Instant
    ) {
        // A reload of routes does not confirm that the policy was removed on purpose.
        if policy != nil || !isPolicyLost { put(policy, inForceAt: instant) }
        if routes.routes != rules.routes.routes {
            rules.setRoutes(routes)
            emit(.readRoutes(routes.routes.map(\.from)))
        }
        let summary = rules.policy?.summary ?? "no policy file"
        emit(.log(.info, "in force now: \(summary); \(routes.routes.count) routes"))
    }

    mutating func emit(_ effect: AgentEffect) { effects.append(effect) }

    /// Makes an id from 16 random bytes. Nil if the library has no randomness; the log then
    /// contains an error.
    mutating func freshID() -> MessageID? {
        do throws(CryptographyFailure) {
            return MessageID(random: try cryptography.random(16))
        } catch {
            emit(.log(.error, "the random number generator failed"))
            return nil
        }
    }

    /// The scope of a session. Nil if the session has none. A scope that cannot be read allows
    /// nothing, because it may contain restrictions.
    static func scope(of held: HeldSession?) -> Scope? {
        guard let document = held?.scope else { return nil }
        do throws(WireError) {
            return try Scope(document)
        } catch {
            return Scope(allowsByDefault: false, rules: [], topics: [])
        }
    }
}
