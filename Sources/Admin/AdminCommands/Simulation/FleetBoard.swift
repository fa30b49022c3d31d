import Sessions
import Wire

/// A simulated board as it lives in time: it decides from its arguments, and acts through
/// `outgoing` alone.
///
/// Source: the wire contract, The content.
struct FleetBoard: Sendable {
    enum Phase: Sendable {
        case unclaimed
        /// Claimed: it waits for its provisioning.
        case claimed
        case alive
        /// Its session is over.
        case over
    }

    /// Why a session is over.
    enum Ending: Sendable {
        /// 209, and no revocation that explains it (yet).
        case untold
        case reuse
        case others
    }

    /// What it has to do beside answering.
    enum Work: Sendable {
        /// To get its session, and one heartbeat answered.
        case pairing
        case load
        /// To wait for what is on its way.
        case winding
    }

    /// When something happens, by both clocks; the wall's is this machine's.
    struct Moment: Sendable {
        let now: Duration
        let wall: Timestamp
    }

    var base: SimulatedBoard
    var phase = Phase.unclaimed
    var ending: Ending?
    /// Whether its connection stands and its inbox is subscribed.
    private(set) var isReachable = false
    private(set) var work = Work.pairing
    /// Sealed messages for its outbox, in order.
    var outgoing: [[UInt8]] = []
    var heartbeat: FleetRequest?
    var refresh: FleetRequest?
    var heartbeatAt: Duration?
    var refreshAt: Duration?
    /// What its clock shows beside this machine's.
    var clockOffset = Duration.zero
    /// Whether its clock was set wrong on purpose and is not known to be right again.
    var isClockWrong = false
    var thief: FleetThief?
    var replay: FleetReplay?
    var spent: RefreshToken?
    /// The provisioning that is to be acknowledged until any reply comes.
    var unacknowledged: MessageID?
    var random: SeededRandom
    var records = FleetRecords()

    init(under root: TopicRoot, seed: UInt64) throws(SimulationFault) {
        base = try SimulatedBoard(under: root)
        random = SeededRandom(seed: seed)
    }

    var session: ObjectID? { base.life?.session }

    func clock(_ moment: Moment) -> Timestamp { moment.wall + clockOffset }

    /// When it next wants `wake`; nil where it waits for others.
    var due: Duration? {
        guard phase == .alive else { return nil }
        guard isReachable else { return records.nextAt }
        var times = [heartbeat?.repeatAt, refresh?.repeatAt, records.due]
        if isWorking {
            times += [heartbeat == nil ? heartbeatAt : nil, refresh == nil ? refreshAt : nil]
            if let replay { times.append(replay.sentAt == nil ? replay.at : nil) }
        }
        times.append(thiefDue)
        return times.compactMap(\.self).min()
    }

    private var isWorking: Bool { work == .load }

    private var thiefDue: Duration? {
        guard let thief, !thief.isTold else { return nil }
        if thief.hasStruck { return thief.repeatAt }
        return isWorking && spent != nil ? thief.strikeAt : nil
    }

    /// The load begins: the first heartbeat and refresh are spread over the fleet's intervals.
    mutating func begin(_ plan: FleetPlan, at moment: Moment) {
        work = .load
        guard phase == .alive, let life = base.life else { return }
        heartbeatAt = moment.now + random.within(plan.heartbeat ?? life.heartbeat)
        planRefresh(plan, at: moment, isFirst: true)
        if let interval = plan.telemetry {
            records.nextAt = moment.now + random.within(interval)
        }
        if thief != nil {
            let early = plan.span / 20 + random.within(plan.span / 10)
            refreshAt = min(refreshAt ?? .seconds(1 << 40), moment.now + early)
            thief?.strikeAt = moment.now + plan.span * 0.3 + random.within(plan.span * 0.3)
        }
    }

    /// Nothing new is begun any more; what is on its way is waited for.
    mutating func wind() {
        work = .winding
        records.nextAt = nil
    }

    /// Whether all that it asked was answered, if only by "later".
    var isSettled: Bool {
        guard phase == .alive else { return true }
        let isAnswered = heartbeat?.isPutOff ?? true
            && (refresh.map { $0.isRefused || $0.isPutOff } ?? true)
        return isAnswered && records.isEmpty && thief?.hasStruck != true
    }

    /// Its connection stands. A heartbeat that was on its way is given up for a new one; a
    /// refresh goes on under its id.
    mutating func reached(_ plan: FleetPlan, at moment: Moment, _ tally: inout FleetTally) {
        isReachable = true
        acknowledge(at: moment)
        guard phase == .alive else { return }
        guard work != .pairing else {
            if heartbeat?.isPutOff == false { heartbeat?.repeatAt = moment.now }
            return
        }
        var earliest = moment.now
        if let asked = heartbeat {
            tally.heartbeats.cut += 1
            if asked.isPutOff { earliest = max(earliest, asked.repeatAt) }
            heartbeat = nil
        }
        let pause = min(interval(plan), plan.spread)
        if work == .load { heartbeatAt = earliest + random.within(pause) }
        if refresh?.isPutOff == false { refresh?.repeatAt = moment.now + random.within(pause) }
        if thief?.isTold == false { thief?.repeatAt = moment.now + random.within(pause) }
    }

    /// Whether a thief may choose it: nobody else has a copy of what it said.
    var mayBeRobbed: Bool {
        phase == .alive && thief == nil && replay == nil && spent != nil
    }

    /// Whether it waits for the time that the authority named.
    var isPutOff: Bool { heartbeat?.isPutOff == true || refresh?.isPutOff == true }

    /// Its connection is gone.
    mutating func cutOff() {
        isReachable = false
        outgoing.removeAll()
        replay = nil
        records.cutOff()
    }

    func interval(_ plan: FleetPlan) -> Duration {
        plan.heartbeat ?? base.life?.heartbeat ?? .seconds(180)
    }

    /// Before the access token ends: at two thirds of its life, as the agent does.
    mutating func planRefresh(
        _ plan: FleetPlan, at moment: Moment, isFirst: Bool = false
    ) {
        if let interval = plan.refresh {
            let wait = isFirst ? random.within(interval) : interval * (0.9 + 0.2 * random.share())
            refreshAt = moment.now + wait
            return
        }
        guard let token = base.life?.accessToken, let times = AccessTokenTimes(token) else {
            refreshAt = nil
            return
        }
        let life = times.expiresAt - times.issuedAt
        let due = times.expiresAt - (life / 3 - random.within(life / 30))
        refreshAt = moment.now + max(.zero, due - moment.wall)
    }
}

/// When an access token was made and when it ends. It is opaque to a board that does not verify
/// it; a simulated one believes who sealed it.
private struct AccessTokenTimes {
    let issuedAt: Timestamp
    let expiresAt: Timestamp

    init?(_ token: AccessToken) {
        let parts = token.reveal().split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64URL.decode(String(parts[1])),
            let claims = try? AccessTokenClaims(parsing: bytes)
        else { return nil }
        (issuedAt, expiresAt) = (claims.issuedAt, claims.expiresAt)
    }
}
