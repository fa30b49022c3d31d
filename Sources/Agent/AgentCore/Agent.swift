package import Gate
package import Sessions
package import Wire

/// What the agent is told once, at its start.
package struct AgentSettings: Sendable {
    package var name: String
    package var topicRoot: TopicRoot
    /// The claim page, or `postern://claim`.
    package var claimBase: String
    package var claimLifetime: Duration
    /// The board's own grace without contact; nil: until the session expires.
    package var offline: Duration?
    /// Other programs' topics, as they are at the start.
    package var routes: RouteTable
    /// The most bytes the outbox may hold.
    package var queueLimit: Int64
    /// Room kept free for messages that are already on their way when reading stops.
    package var queueReserve: Int64
    /// How old a queued write may become.
    package var queueAge: Duration
    package var version: String
    package var buildDate: Timestamp
    package var processID: Int64
    /// A full outbox drops its oldest and is read into for ever; else reading stops.
    package var dropsOldest = false
    /// What Home Assistant is told of this board; nil: it is told nothing.
    package var discovery: HomeAssistantDiscovery?
    /// Over how long this board spreads what a fleet would do at one moment; nil: as long as
    /// its authority says.
    package var spread: Duration?

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

/// The board's side of Postern: an event and an instant go in, effects come out.
///
/// It opens, judges and remembers; it reads no clock, no file and no socket. What must be
/// durable before it is said stands in a `commit` before the effect that says it.
package struct Agent: Sendable {
    let settings: AgentSettings
    let cryptography: any BoardCryptography
    var records: BoardRecords
    var clock: BoardClock
    var gate: Gate
    var policy: Policy?
    /// The policy file that was in force is gone, and nobody has said that this is meant: every
    /// write is refused.
    package internal(set) var isPolicyLost: Bool
    var routes: RouteTable {
        didSet { readings.forget() }
    }
    var readings = TopicReadings()
    /// Reused for each message.
    var digestInput: [UInt8] = []
    var limiter = RateLimiter()
    /// Where the session's life stands, as of the last instant it was looked at.
    var life: SessionLife
    /// What `postern/session` says now; nil before the first publication.
    var published: SessionNotice.State?
    /// Whether it says that only a provisioning helps; nil: it says neither.
    var publishedIsFinal: Bool?
    var uplink: Uplink
    var requests: Requests
    var pace = RequestPace()
    var waits = CommandWaits()
    var readers = SessionReaders()
    var signOutTries = SignOutTries()
    /// False while it was only opened to be asked: then nothing comes of waiting.
    private(set) var hasStarted = false
    var bus: Bus
    var queue = QueueState()
    /// The oldest write's time when something was dropped for its age last.
    var expiredBefore: Timestamp?
    /// Of writes accepted in this turn, which `queue` does not tell of yet. A turn of the loop
    /// ends with a deadline; what it holds back from the disk by then is not in the outbox.
    var unsettledBytes: Int64 = 0
    var flow = QueueFlow()
    var lossNews = LossNews()
    var statusNews = StatusNews()
    var rulesNews = RulesNews()
    /// Writes that were accepted in this life.
    var accepted: Int64 = 0
    /// The highest number of a data message that the upstream broker has acknowledged in this
    /// life; nil before the first.
    var lastForwarded: Int64?
    /// Messages on the inbox that could not be opened or were not for now.
    var dropped: Int64 = 0
    var refusals = RefusalTally()
    var refusalPace = RefusalPace()
    var summariesSaid: Int64 = 0
    var refusedProvisionings: Int64 = 0
    /// The last of those that came under the claim secret. The authority has given them up, so
    /// one that comes late, once the clock is right, must not be taken. At most 16; a restart
    /// forgets them.
    var givenUp: [MessageID] = []
    let startedAt: Timestamp
    /// Names this process to the authority; nil before the first report.
    var run: MessageID?
    /// Filled by one call of `handle`, and returned by it.
    var effects: [AgentEffect] = []

    /// `window` is what the store remembers of the last accepted packets of the bus.
    package init(
        settings: AgentSettings, cryptography: any BoardCryptography, records: BoardRecords,
        policy: Policy?, window: [DeliveredPacket], queue: QueueState, at instant: Instant
    ) {
        self.settings = settings
        self.cryptography = cryptography
        self.records = records
        let isPolicyLost = policy == nil && records.memory.hasPolicy
        let inForce = isPolicyLost ? Policy.refusesAll : policy
        self.isPolicyLost = isPolicyLost
        self.policy = inForce
        routes = settings.routes
        self.queue = queue
        clock = BoardClock(buildDate: settings.buildDate, floor: records.memory.floor)
        gate = Gate(policy: inForce, scope: Self.scope(of: records.session))
        life = Self.life(of: records)
        uplink = Uplink()
        requests = Requests()
        bus = Bus(window: window)
        startedAt = instant.wall
    }

    /// Whether a record of the board is lost, so that writes wait until it is paired again.
    package var isUnreadable: Bool { records.isUnreadable }

    /// Takes one event. Returns what is to be done, in order; nothing is done yet.
    package mutating func handle(_ event: AgentEvent, at instant: Instant) -> [AgentEffect] {
        effects.removeAll(keepingCapacity: true)
        startClaimWhenClockIsSet(at: instant)
        switch event {
        case .started: start(at: instant)
        case .deadline: unsettledBytes = 0
        case .busConnected(let resumed): busConnected(resumed: resumed, at: instant)
        case .busLost: bus.lost()
        case .bus(let messages): judge(messages, at: instant)
        case .uplink(let event): handle(event, at: instant)
        case .inbox(let payload): receive(payload, at: instant)
        case .busBroker(let dropped, let stored):
            busBrokerTold(dropped: dropped, stored: stored)
        case .queue(let state): queueChanged(state, at: instant)
        case .forwarded(let number): lastForwarded = max(number, lastForwarded ?? number)
        case .control(let request, let connection):
            answer(request, connection, at: instant)
        case .rules(let policy, let routes): adopt(policy, routes, at: instant)
        case .stop: stop(at: instant)
        }
        if case .stop = event { return effects }
        keepTime(at: instant)
        return effects
    }

    /// The monotonic time at which `deadline` is wanted; nil: nothing is waited for.
    package func nextDeadline(at instant: Instant) -> Duration? {
        [
            uplink.retryAt, requests.nextDeadline, sessionDeadline(at: instant),
            healthDeadline, waits.nextDeadline, signOutDeadline, readers.nextDeadline,
            refusalDeadline, expiryDeadline(at: instant), lossDeadline, statusDeadline,
        ].compactMap(\.self).min()
    }

    /// Does what is due, whatever woke the agent, and says what changed by it.
    private mutating func keepTime(at instant: Instant) {
        publishSessionIfChanged(at: instant)
        connectIfDue(at: instant)
        sendDueRequests(at: instant)
        sendSignOutIfDue(at: instant)
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
        hasStarted = true
        publishSessionIfChanged(at: instant)
        if records.isUnreadable {
            let login = records.trust != nil ? "" : "end it with `postern sessions revoke` and "
                + "`postern boards forget-revocation`, for the broker login is lost, too; "
            emit(.log(.error, "the session cannot be read: \(login)"
                + "run `postern-agent pair` and claim this board again"))
        } else if records.session == nil {
            emit(.log(.info, "not provisioned: run `postern-agent pair` and claim this board"))
        }
        judgePolicyAtStart()
        uplink.retryAt = instant.monotonic + spreadWait(at: instant)
        bus.healthIsStale = true
    }

    private mutating func stop(at instant: Instant) {
        if uplink.isReady { publishStatus(up: false, at: instant) }
        summarizeRefusals(due: nil)
        publishHealth(up: false, at: instant)
        emit(.disconnectUplink)
        emit(.exit)
    }

    /// The rules are in force before the topics of new routes come. Buckets and counters stay.
    private mutating func adopt(
        _ policy: Policy?, _ routes: RouteTable, at instant: Instant
    ) {
        // New routes confirm nothing.
        if policy != nil || !isPolicyLost { put(policy, inForceAt: instant) }
        if routes.routes != self.routes.routes {
            self.routes = routes
            emit(.readRoutes(routes.routes.map(\.from)))
        }
        let rules = self.policy?.summary ?? "no policy file"
        emit(.log(.info, "in force now: \(rules); \(routes.routes.count) routes"))
    }

    mutating func emit(_ effect: AgentEffect) { effects.append(effect) }

    /// 16 fresh random bytes as an id; nil when the library has no randomness, which is said.
    mutating func freshID() -> MessageID? {
        do throws(CryptographyFailure) {
            return MessageID(random: try cryptography.random(16))
        } catch {
            emit(.log(.error, "no randomness is to be had"))
            return nil
        }
    }

    /// Nil where there is none. One that cannot be read allows nothing: it was written to forbid
    /// something.
    static func scope(of held: HeldSession?) -> Scope? {
        guard let document = held?.scope else { return nil }
        do throws(WireError) {
            return try Scope(document)
        } catch {
            return Scope(allowsByDefault: false, rules: [], topics: [])
        }
    }
}
