import AgentCore
import Sessions
import Wire

/// A request of a board, from its first sending to its answer.
struct FleetRequest: Sendable {
    enum Kind: Sendable { case heartbeat, refresh }

    let kind: Kind
    let id: MessageID
    let since: Duration
    /// The message of the last sending.
    var message: BoardMessage
    var payload: [UInt8]
    /// The reply that was dropped on purpose. The next reply must be the same.
    var lost: [UInt8]?
    /// The authority was overloaded and said when to ask again.
    var isPutOff = false
    /// The request was refused. Its retry comes much later, with the same id.
    var isRefused = false

    var isAwaited: Bool { !isPutOff && !isRefused }

    /// Whether its time was so wrong that the authority must refuse it.
    /// Source: the wire contract, Time and the clock.
    func wasOff(by now: Timestamp) -> Bool {
        let skew = now - message.issuedAt
        return !message.clockUnset && (skew > .seconds(300) || skew < .seconds(-300))
    }
}

extension BoardMessage {
    fileprivate var kind: FleetRequest.Kind? {
        switch body {
        case .authenticate: .heartbeat
        case .refresh: .refresh
        default: nil
        }
    }
}

/// An eavesdropper's copy of an answered heartbeat.
struct FleetReplay: Sendable {
    let id: MessageID
    let payload: [UInt8]
    /// The first answer. The copy must get the same one.
    let answer: [UInt8]
    let at: Duration
    var isSent = false
}

/// A thief with the board's device key and with a refresh token that the board has spent.
struct FleetThief: Sendable {
    /// When the board must refresh, so that it has a spent token.
    var refreshAt: Duration?
    /// The earliest time of the theft.
    private(set) var strikeAt = Duration.zero
    /// The id of the thief's request, once it is made. It is sent again until it is answered.
    var id: MessageID?
    var repeatAt = Duration.zero
    var isTold = false
    var isFound = false

    var hasStruck: Bool { id != nil }

    static let patience = Duration.seconds(5)

    /// The theft comes after 20 % to 40 % of the load's span.
    mutating func begin(_ span: Duration, at now: Duration, _ random: inout SeededRandom) {
        refreshAt = now + span / 20 + random.within(span / 10)
        strikeAt = now + span * 0.2 + random.within(span * 0.2)
    }

    mutating func hasten(to now: Duration) { strikeAt = min(strikeAt, now) }

    func due(hasToken: Bool) -> Duration? {
        if let refreshAt { return refreshAt }
        if isTold || !hasToken { return nil }
        return hasStruck ? repeatAt : strikeAt
    }
}

// The board's requests.
extension FleetBoard {
    /// Records a message that the agent sends.
    mutating func note(
        _ message: BoardMessage, _ payload: [UInt8], at moment: Instant,
        _ tally: inout FleetTally
    ) {
        guard let kind = message.kind else { return }
        if let index = requests.firstIndex(where: { $0.id == message.id }) {
            tally[kind].repeated += 1
            requests[index].message = message
            requests[index].payload = payload
            (requests[index].isPutOff, requests[index].isRefused) = (false, false)
            return
        }
        requests.removeAll { $0.kind == kind }
        requests.append(FleetRequest(
            kind: kind, id: message.id, since: moment.monotonic, message: message,
            payload: payload))
        tally[kind].asked += 1
        tally.bytes.requests += payload.count
    }

    /// The agent drops a heartbeat when its connection ends, and later makes a new one.
    mutating func cutHeartbeats(_ tally: inout FleetTally) {
        tally.heartbeats.cut += requests.count { $0.kind == .heartbeat }
        requests.removeAll { $0.kind == .heartbeat }
    }

    /// The next time at which the eavesdropper or the thief acts.
    var faultDue: Duration? {
        let copy = replay.flatMap { $0.isSent ? nil : $0.at }
        return [copy, thief?.due(hasToken: spent != nil)].compactMap(\.self).min()
    }

    mutating func actFaults(at moment: Instant, _ tally: inout FleetTally) {
        let now = moment.monotonic
        if let copy = replay, !copy.isSent, copy.at <= now {
            replay?.isSent = true
            tally.replays.injected += 1
            publish(outbox, copy.payload)
        }
        guard let due = thief?.due(hasToken: spent != nil), due <= now else { return }
        if thief?.refreshAt != nil {
            thief?.refreshAt = nil
            return handle(.control(.refresh(minutes: nil), connection: 0), at: moment, &tally)
        }
        do throws(CryptographyFailure) {
            try strike(at: moment, &tally)
        } catch {
            tally.violations.note(.seal)
        }
    }

    /// The thief sends the spent token with its own id, and repeats it until it is answered. It
    /// uses the board's own connection, as if it had also stolen the broker login.
    private mutating func strike(
        at moment: Instant, _ tally: inout FleetTally
    ) throws(CryptographyFailure) {
        guard let token = spent, let trust = store.records.trust else { return }
        let id: MessageID
        if let known = thief?.id { id = known } else {
            id = MessageID(random: try tap.random(16))
            tally.thefts.injected += 1
        }
        thief?.id = id
        thief?.repeatAt = moment.monotonic + FleetThief.patience
        let message = BoardMessage(
            id: id, issuedAt: moment.wall, clockUnset: false, body: .refresh(token))
        publish(outbox, try tap.sealUnnoticed(
            message, to: trust.authority.sealKey,
            from: store.records.identity.deviceSecret, topic: outbox))
    }
}

// The board's answers.
extension FleetBoard {
    /// Drops a payload if it is the first successful answer to a request.
    mutating func lose(_ payload: [UInt8], _ tally: inout FleetTally) -> Bool {
        guard let sender = store.records.trust?.authority.sealKey,
            let envelope = try? SealedEnvelope(parsing: payload), envelope.mode == .auth,
            (try? tap.open(
                envelope, from: sender, with: store.records.identity.deviceSecret, topic: inbox))
                != nil,
            case .reply(let reply)? = tap.takeOpened()?.body, case .result = reply.outcome,
            let index = requests.firstIndex(where: { $0.id == reply.re }),
            requests[index].lost == nil
        else { return false }
        tally.lostReplies.injected += 1
        requests[index].lost = payload
        return true
    }

    mutating func judge(
        _ message: AuthorityMessage, _ payload: [UInt8], mayCopy: Bool,
        _ random: inout SeededRandom, at moment: Instant, _ tally: inout FleetTally
    ) {
        switch message.body {
        case .reply(let reply): take(reply, payload, mayCopy, &random, at: moment, &tally)
        case .revoked(_, let session, let reason): revoked(session, reason, &tally)
        case .provision, .updated, .command, .unknown: break
        }
    }

    private mutating func revoked(
        _ session: ObjectID, _ reason: String, _ tally: inout FleetTally
    ) {
        guard endReason == nil, session == store.records.trust?.session else { return }
        endReason = reason
        guard reason == "reuse" else {
            tally.endedByOthers += 1
            return
        }
        guard thief?.hasStruck == true else {
            return tally.violations.note(
                .contract("a session was revoked for a theft that did not happen"))
        }
        thief?.isFound = true
        tally.thefts.right += 1
    }

    private mutating func take(
        _ reply: Reply, _ payload: [UInt8], _ mayCopy: Bool, _ random: inout SeededRandom,
        at moment: Instant, _ tally: inout FleetTally
    ) {
        if let id = thief?.id, id == reply.re { return answerThief(reply, &tally) }
        if let index = requests.firstIndex(where: { $0.id == reply.re }) {
            switch reply.outcome {
            case .error(let refusal): refused(index, refusal, by: reply.now, &tally)
            case .result:
                let request = requests.remove(at: index)
                answered(request, payload, by: reply.now, at: moment, &tally)
                guard mayCopy, request.kind == .heartbeat, replay == nil, thief == nil,
                    random.happens(plan.faults.replays)
                else { return }
                let wait = Duration.milliseconds(200) + random.within(.seconds(2))
                replay = FleetReplay(
                    id: request.id, payload: request.payload, answer: payload,
                    at: moment.monotonic + wait)
            }
        } else if let copy = replay, copy.isSent, copy.id == reply.re {
            replay = nil
            if payload == copy.answer {
                tally.replays.right += 1
            } else if case .error(let refusal) = reply.outcome, refusal.is(.rateLimit) {
                // The authority was overloaded and did not look at the request.
            } else {
                tally.replays.wrong += 1
                tally.violations.note(.contract("a replayed request got a different answer"))
            }
        }
    }

    private mutating func answered(
        _ request: FleetRequest, _ payload: [UInt8], by now: Timestamp, at moment: Instant,
        _ tally: inout FleetTally
    ) {
        if let lost = request.lost {
            if lost == payload {
                tally.lostReplies.right += 1
            } else {
                tally.lostReplies.wrong += 1
                tally.violations.note(.contract("a repeated request got a different answer"))
            }
        } else {
            tally[request.kind].times.add(moment.monotonic - request.since)
        }
        if request.wasOff(by: now) {
            tally.violations.note(.contract("a request with a wrong clock was not refused"))
        } else if isClockWrong {
            isClockWrong = false
            tally.clocks.right += 1
        }
        if case .refresh(let token) = request.message.body { spent = token }
        tally[request.kind].answered += 1
        tally.bytes.replies += payload.count
    }

    /// Only counts the refusal. The agent handles it.
    private mutating func refused(
        _ index: Int, _ refusal: Refusal, by now: Timestamp, _ tally: inout FleetTally
    ) {
        let kind = requests[index].kind
        if refusal.is(.rateLimit) {
            requests[index].isPutOff = true
            tally[kind].overloaded += 1
            return tally.errors.note(.refused(refusal.code))
        }
        let isExpected = refusal.is(.validation) && isClockWrong
            || refusal.is(.invalidSession) && thief?.hasStruck == true
        if !isExpected { tally.errors.note(.refused(refusal.code)) }
        if kind == .refresh { requests[index].isRefused = true } else { requests.remove(at: index) }
    }

    private mutating func answerThief(_ reply: Reply, _ tally: inout FleetTally) {
        guard thief?.isTold == false else { return }
        switch reply.outcome {
        case .error(let refusal) where refusal.is(.invalidSession):
            thief?.isTold = true
            tally.thievesTold += 1
        case .error(let refusal) where refusal.is(.rateLimit): return
        case .error(let refusal):
            tally.violations.note(.contract("a thief was refused with \(refusal.code), not 209"))
        case .result:
            thief?.isTold = true
            tally.thefts.wrong += 1
            tally.violations.note(.contract("a thief got new tokens"))
        }
    }
}
