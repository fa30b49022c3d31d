import AgentCore
import Gate
import MQTT
import Sessions
import Wire

/// One simulated board: the real agent, its store in memory, and the observations of the simulator.
struct FleetBoard {
    /// An order to the board's connection. Orders are carried out one after another.
    enum Order {
        case connect(UplinkLogin)
        /// Without a clean disconnect the broker publishes the last will.
        case disconnect(cleanly: Bool)
        case subscribe(String)
        case publish(OutgoingMessage, sequence: Int64?)
    }

    let plan: FleetPlan
    private let book: TelemetryRecord
    private(set) var agent: Agent
    private(set) var store: FleetStore
    let tap: ObservedCryptography
    /// The claim URL that the board shows. It holds the claim secret.
    let claimURL: String
    var orders: [Order] = []
    /// The requests without an answer, at most one of each kind.
    var requests: [FleetRequest] = []
    var thief: FleetThief?
    var replay: FleetReplay?
    /// The refresh token before the current one.
    var spent: RefreshToken?
    /// The authority's reason for the end of the session; nil if it has reported none.
    var endReason: String?
    private(set) var hasSession = false
    private(set) var isConnected = false
    private var hasStarted = false
    /// The difference of the board's clock from the true time. `isClockWrong` is true after it was
    /// set wrong on purpose, until the next answer.
    private var clockOffset = Duration.zero
    var isClockWrong = false
    private var telemetryAt: Duration?
    /// When the load ended; nil before. The board still makes requests after it, at its own pace.
    private var loadEnd: Duration?
    private var made: Int64 = 0
    private var isReading = true

    init(_ plan: FleetPlan, book: TelemetryRecord, at moment: Instant) throws(CryptographyFailure) {
        self.plan = plan
        self.book = book
        tap = ObservedCryptography()
        let key = try tap.makeDeviceKey()
        store = FleetStore(BoardIdentity(
            installation: InstallationID(random: try tap.random(16)), deviceSecret: key.secret,
            deviceKey: key.key))
        var agent = Self.agent(plan, store, tap)
        claimURL = agent.pair(fresh: true, at: moment).asObject?["url"]?.asString ?? ""
        self.agent = agent
    }

    private static func agent(
        _ plan: FleetPlan, _ store: FleetStore, _ tap: ObservedCryptography
    ) -> Agent {
        var settings = AgentSettings(
            name: "simulated", topicRoot: plan.root, claimBase: ClaimURL.defaultBase,
            claimLifetime: .seconds(86_400), offline: nil, routes: RouteTable(),
            queueLimit: 1 << 18, queueReserve: 1 << 14, version: plan.version,
            buildDate: Timestamp(milliseconds: 0), processID: 1)
        settings.spread = plan.spread
        return Agent(
            settings: settings, cryptography: tap, records: store.records, policy: nil,
            window: [], queue: store.queue)
    }

    var installation: InstallationID { store.records.identity.installation }
    var inbox: String { ContractTopic.inbox(installation).text(under: plan.root) }
    var outbox: String { ContractTopic.outbox(installation).text(under: plan.root) }

    /// The board's own clocks at the true time `moment`.
    private func instant(_ moment: Instant) -> Instant {
        Instant(wall: moment.wall + clockOffset, monotonic: moment.monotonic)
    }

    /// Whether the board has a session that the authority has acknowledged, and no open request.
    var isPaired: Bool {
        hasSession && requests.isEmpty && store.records.trust?.isAcknowledged == true
    }

    /// Whether the board has lost its session.
    var isOver: Bool { !hasSession && store.records.memory.ended != nil }

    /// Whether the board has a session but no connection.
    var isStranded: Bool { hasSession && !isConnected }

    /// Whether a request waits for an answer and was not postponed.
    var isBusy: Bool { requests.contains(where: \.isAwaited) }

    var isPutOff: Bool { requests.contains(where: \.isPutOff) }

    /// Whether nothing of the load is open. True without a session. With one, every request must be
    /// answered or postponed, every write acknowledged, and no thief may have acted.
    var isSettled: Bool {
        guard hasSession else { return true }
        let isOpen = requests.contains { request in
            request.isAwaited && loadEnd.map { request.since <= $0 } ?? true
        }
        return !isOpen && store.isEmpty && thief?.hasStruck != true
    }

    /// Whether this password was replaced by the provisioning. The authority ends such a
    /// connection. Source: the wire contract, Claiming at the authority.
    func hasReplaced(_ password: SecretBytes?) -> Bool {
        guard let own = store.records.trust?.broker?.password, let password else { return false }
        return !own.matches(password)
    }
}

// Events of the board.
extension FleetBoard {
    /// Turns the board on after its claim.
    mutating func start(at moment: Instant, _ tally: inout FleetTally) {
        hasStarted = true
        handle(.started, at: moment, &tally)
    }

    /// Restarts the board with a clock that is wrong by `offset`.
    mutating func restart(
        clockOff offset: Duration, at moment: Instant, _ tally: inout FleetTally
    ) {
        orders.append(.disconnect(cleanly: false))
        isConnected = false
        store.forward(nil)
        clockOffset = offset
        isClockWrong = true
        requests.removeAll()
        replay = nil
        agent = Self.agent(plan, store, tap)
        handle(.started, at: moment, &tally)
    }

    /// Starts the load.
    mutating func begin(
        _ load: FleetLoad, _ random: inout SeededRandom, at moment: Instant,
        _ tally: inout FleetTally
    ) {
        guard hasSession else { return }
        loadEnd = nil
        agent.keep(load.pace, at: instant(moment))
        if let interval = plan.telemetry {
            telemetryAt = moment.monotonic + random.within(interval)
        }
        thief?.begin(load.span, at: moment.monotonic, &random)
    }

    /// Stops the telemetry, and sets the request pace back to that of the authority. A thief who
    /// can act does so now.
    mutating func wind(at moment: Instant) {
        telemetryAt = nil
        loadEnd = moment.monotonic
        thief?.hasten(to: moment.monotonic)
        agent.keep(RequestPace(), at: instant(moment))
    }

    mutating func connectionChanged(
        _ event: UplinkEvent, at moment: Instant, _ tally: inout FleetTally
    ) {
        if case .ready = event { isConnected = true }
        switch event {
        case .lost, .refused, .takenOver:
            isConnected = false
            replay = nil
            cutHeartbeats(&tally)
        default: break
        }
        handle(.uplink(event), at: moment, &tally)
    }

    /// Takes a payload of the board's inbox. With `mayFail`, faults may be injected.
    mutating func hear(
        _ payload: [UInt8], mayFail: Bool, _ random: inout SeededRandom, at moment: Instant,
        _ tally: inout FleetTally
    ) {
        if mayFail, isBusy, random.happens(plan.faults.lostReplies), lose(payload, &tally) {
            return
        }
        let effects = agent.handle(.inbox(payload), at: instant(moment))
        if let opened = tap.takeOpened() {
            judge(opened, payload, mayCopy: mayFail, &random, at: moment, &tally)
        }
        perform(effects, at: moment, &tally)
    }

    /// Takes the broker's answer to one of the board's writes.
    mutating func acknowledged(
        _ sequence: Int64, _ code: UInt8, at moment: Instant, _ tally: inout FleetTally
    ) {
        guard code < 0x80 else {
            tally.errors.note(SimulationFault(refusedWith: code))
            return store.refused(sequence, at: moment.monotonic)
        }
        store.acknowledged(sequence)
        book.acknowledge(sequence, of: installation, at: moment.monotonic)
        handle(.queue(store.queue), at: moment, &tally)
        handle(.forwarded(sequence), at: moment, &tally)
    }

    /// The time of the next `wake`; nil if only other events matter. It is called very often, so it
    /// is mutating: otherwise the compiler copies the board with its agent each time.
    mutating func due(at moment: Instant) -> Duration? {
        guard hasStarted else { return nil }
        return [
            agent.nextDeadline(at: instant(moment)), isReading ? telemetryAt : nil,
            store.retryAt, isConnected ? faultDue : nil,
        ].compactMap(\.self).min()
    }

    /// Does all work that is due.
    mutating func wake(at moment: Instant, _ tally: inout FleetTally) {
        let now = moment.monotonic
        if let due = telemetryAt, due <= now, isReading, let interval = plan.telemetry {
            // After a pause the board does not catch up.
            telemetryAt = max(due + interval, now)
            write(at: moment, &tally)
        }
        if isConnected { actFaults(at: moment, &tally) }
        handle(.deadline, at: moment, &tally)
    }

    /// Sends a message as an app on the board.
    private mutating func write(at moment: Instant, _ tally: inout FleetTally) {
        made += 1
        var payload = Array("{\"n\":\(made)".utf8)
        let pad = plan.payload - payload.count - 8
        if pad > 0 {
            payload += Array(",\"p\":\"".utf8) + Array(repeating: UInt8(ascii: "x"), count: pad)
            payload.append(UInt8(ascii: "\""))
        }
        payload.append(UInt8(ascii: "}"))
        let message = BusMessage(
            topic: "postern/app/\(FleetPlan.app)/create/\(FleetPlan.className)",
            payload: payload, isRetained: false, packetID: nil, responseTopic: nil,
            correlation: nil)
        handle(.bus([message]), at: moment, &tally)
        handle(.queue(store.queue), at: moment, &tally)
    }

    mutating func handle(_ event: AgentEvent, at moment: Instant, _ tally: inout FleetTally) {
        perform(agent.handle(event, at: instant(moment)), at: moment, &tally)
    }
}

// Effects of the agent.
extension FleetBoard {
    private mutating func perform(
        _ effects: [AgentEffect], at moment: Instant, _ tally: inout FleetTally
    ) {
        var sealed = tap.takeSealed()[...]
        for effect in effects {
            switch effect {
            case .commit(let changes): commit(changes)
            case .connectUplink(let login): orders.append(.connect(login))
            case .disconnectUplink:
                isConnected = false
                orders.append(.disconnect(cleanly: true))
            case .abandonUplink:
                isConnected = false
                orders.append(.disconnect(cleanly: false))
            case .subscribeInbox(let topic): orders.append(.subscribe(topic))
            case .send(let topic, let payload):
                if let message = sealed.popFirst() { note(message, payload, at: moment, &tally) }
                publish(topic, payload)
            case .publishStatus(let topic, let status):
                publish(topic, status.payload, retain: true)
            case .forward(let user): store.forward(user)
            case .readBus(let isRead): isReading = isRead
            // No simulated board has a prepared claim.
            case .publishBus, .publishCommand, .grant, .retryForwarding, .holdBus, .readRoutes,
                .restore, .answer, .log, .exit, .askToJoin:
                break
            }
        }
        while isConnected, let write = store.take(at: moment.monotonic) {
            orders.append(.publish(write.message, sequence: write.sequence))
        }
    }

    private mutating func commit(_ changes: [RecordChange]) {
        for sequence in store.commit(changes) { book.make(sequence, by: installation) }
        let session = store.records.session?.session.objectID
        if let session, !hasSession { book.enter(installation, session) }
        hasSession = session != nil
        if !hasSession {
            requests.removeAll()
            replay = nil
        }
    }

    mutating func publish(_ topic: String, _ payload: [UInt8], retain: Bool = false) {
        let message = OutgoingMessage(topic: topic, payload: payload, retain: retain)
        orders.append(.publish(message, sequence: nil))
    }
}
