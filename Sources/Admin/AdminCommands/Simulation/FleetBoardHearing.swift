import Sessions
import Wire

// What a simulated board hears.
extension FleetBoard {
    /// Takes one payload of its inbox. What throws could not be opened or is not as agreed.
    mutating func take(
        _ payload: [UInt8], _ plan: FleetPlan, at moment: Moment, _ tally: inout FleetTally
    ) throws(SimulationFault) {
        guard !payload.isEmpty else { return }
        if let copy = replay, copy.sentAt != nil, copy.answer == payload {
            tally.replays.right += 1
            replay = nil
            return
        }
        let message = try base.open(payload)
        switch message.body {
        case .provision(let provision):
            try take(provision, message.id, plan, at: moment, &tally)
        case .reply(let reply):
            unacknowledged = nil
            try take(reply, payload, plan, at: moment, &tally)
        case .revoked(_, let session, let reason):
            try revoked(session, reason, message.id, at: moment, &tally)
        case .updated, .unknown:
            return
        }
    }

    private mutating func take(
        _ provision: Provision, _ id: MessageID, _ plan: FleetPlan, at moment: Moment,
        _ tally: inout FleetTally
    ) throws(SimulationFault) {
        if let session {
            // Redelivered: the acceptance did not arrive.
            if provision.session.objectID == session { acknowledge(at: moment) }
            return
        }
        outgoing.append(try base.begin(provision, id, wall: clock(moment)))
        unacknowledged = id
        phase = .alive
        // The first heartbeat is the proof that it is let in.
        try ask(.heartbeat, plan, at: moment, &tally)
    }

    private mutating func revoked(
        _ session: ObjectID, _ reason: String, _ id: MessageID, at moment: Moment,
        _ tally: inout FleetTally
    ) throws(SimulationFault) {
        guard let life = base.life else { return }
        outgoing.append(try base.seal(
            BoardMessage(
                id: try SimulatedBoard.newID(), issuedAt: clock(moment), clockUnset: false,
                body: .sessionEnded(re: id, session: session)), life))
        guard session == life.session, ending == nil || ending == .untold else { return }
        if phase == .alive { end() }
        guard reason == "reuse" else {
            ending = .others
            tally.endedByOthers += 1
            return
        }
        ending = .reuse
        guard thief?.hasStruck == true else {
            return tally.violations.note(
                .contract("a session was revoked for a theft that was none"))
        }
        thief?.isFound = true
        tally.thefts.right += 1
    }

    private mutating func end() {
        phase = .over
        (heartbeat, refresh, replay) = (nil, nil, nil)
        records.hold()
    }

    private mutating func take(
        _ reply: Reply, _ payload: [UInt8], _ plan: FleetPlan, at moment: Moment,
        _ tally: inout FleetTally
    ) throws(SimulationFault) {
        if let id = thief?.id, id == reply.re { return answerThief(reply, &tally) }
        if let asked = heartbeat, asked.id == reply.re {
            heartbeat = try judge(reply, payload, asked, plan, at: moment, &tally)
        } else if let asked = refresh, asked.id == reply.re {
            refresh = try judge(reply, payload, asked, plan, at: moment, &tally)
        } else if let copy = replay, copy.sentAt != nil, copy.id == reply.re {
            replay = nil
            // Nothing was looked at: the authority had no time.
            if case .error(let refusal) = reply.outcome, refusal.is(.rateLimit) { return }
            tally.replays.wrong += 1
            tally.violations.note(.contract("a replayed request had another answer"))
        }
    }

    private mutating func answerThief(_ reply: Reply, _ tally: inout FleetTally) {
        guard thief?.isTold == false else { return }
        switch reply.outcome {
        case .error(let refusal) where refusal.is(.invalidSession):
            thief?.isTold = true
            tally.thievesTold += 1
        case .error(let refusal) where refusal.is(.rateLimit):
            return
        case .error(let refusal):
            tally.violations.note(.contract("a thief was refused with \(refusal.code), not 209"))
        case .result:
            thief?.isTold = true
            tally.thefts.wrong += 1
            tally.violations.note(.contract("a thief got new tokens"))
        }
    }
}

// Answers to what was asked.
extension FleetBoard {
    /// The request as it waits on; nil where it is done.
    private mutating func judge(
        _ reply: Reply, _ payload: [UInt8], _ asked: FleetRequest, _ plan: FleetPlan,
        at moment: Moment, _ tally: inout FleetTally
    ) throws(SimulationFault) -> FleetRequest? {
        switch reply.outcome {
        case .error(let refusal):
            return try refused(asked, refusal, reply.now, plan, at: moment, &tally)
        case .result(let result):
            if asked.lost == nil, work == .load, random.happens(plan.faults.lostReplies) {
                tally.lostReplies.injected += 1
                var waiting = asked
                waiting.lost = payload
                return waiting
            }
            if let lost = asked.lost {
                if lost == payload {
                    tally.lostReplies.right += 1
                } else {
                    tally.lostReplies.wrong += 1
                    tally.violations.note(.contract("a repeated request had another answer"))
                }
            }
            try accept(result, reply.now, asked, plan, at: moment, &tally)
            copy(asked, payload, plan, at: moment)
            return nil
        }
    }

    private mutating func accept(
        _ result: Reply.Result, _ now: Timestamp, _ asked: FleetRequest, _ plan: FleetPlan,
        at moment: Moment, _ tally: inout FleetTally
    ) throws(SimulationFault) {
        guard result.session?.objectID == session else {
            throw .contract("an answer for another session")
        }
        if asked.wasOff(by: now) {
            tally.violations.note(.contract("a clock that is off was not refused"))
        } else if isClockWrong {
            isClockWrong = false
            tally.clocks.right += 1
        }
        let time = moment.now - asked.since
        switch asked.kind {
        case .heartbeat:
            tally.heartbeats.answered += 1
            if asked.lost == nil { tally.heartbeats.times.add(time) }
            heartbeatAt = moment.now + interval(plan) * (0.9 + 0.2 * random.share())
        case .refresh:
            spent = base.life?.refreshToken
            try base.rotate(result)
            tally.refreshes.answered += 1
            if asked.lost == nil { tally.refreshes.times.add(time) }
            planRefresh(plan, at: moment)
        }
    }

    /// An eavesdropper may have heard it.
    private mutating func copy(
        _ asked: FleetRequest, _ answer: [UInt8], _ plan: FleetPlan, at moment: Moment
    ) {
        guard work == .load, replay == nil, thief == nil, random.happens(plan.faults.replays)
        else { return }
        replay = FleetReplay(
            id: asked.id, kind: asked.kind, payload: asked.payload, answer: answer,
            at: moment.now + .milliseconds(200) + random.within(.seconds(2)))
    }

    private mutating func refused(
        _ asked: FleetRequest, _ refusal: Refusal, _ now: Timestamp, _ plan: FleetPlan,
        at moment: Moment, _ tally: inout FleetTally
    ) throws(SimulationFault) -> FleetRequest? {
        if refusal.is(.validation), asked.corrections < 3,
            asked.wasOff(by: now) || asked.tries > 1
        {
            if asked.wasOff(by: now) { clockOffset = now - moment.wall }
            return try askAgain(asked, plan, at: moment, &tally)
        }
        if refusal.is(.rateLimit) {
            // Nothing was done. A refresh keeps its id all the same: an earlier copy of it may
            // be acted on yet.
            var waiting = asked
            waiting.putOff(by: refusal, plan, at: moment.now, &random)
            tally.errors.note(.refused(refusal.code))
            if asked.kind == .heartbeat {
                tally.heartbeats.overloaded += 1
            } else {
                tally.refreshes.overloaded += 1
            }
            return waiting
        }
        if refusal.is(.invalidSession) {
            if thief?.hasStruck != true { tally.errors.note(.refused(refusal.code)) }
            end()
            ending = ending ?? .untold
            return nil
        }
        tally.errors.note(.refused(refusal.code))
        guard asked.kind == .refresh else {
            heartbeatAt = moment.now + interval(plan)
            return nil
        }
        // Under another id the same token would look like theft: an earlier copy of the request
        // may have been acted on, or may be yet.
        var waiting = asked
        waiting.isRefused = true
        waiting.repeatAt = moment.now + .seconds(300)
        return waiting
    }

    /// No token was looked at, so the id is a fresh one; but a refresh that was sent before may
    /// have been acted on, and keeps its own.
    private mutating func askAgain(
        _ asked: FleetRequest, _ plan: FleetPlan, at moment: Moment, _ tally: inout FleetTally
    ) throws(SimulationFault) -> FleetRequest? {
        if asked.kind == .refresh, asked.tries > 1 {
            var waiting = asked
            waiting.corrections += 1
            waiting.repeatAt = moment.now
            return waiting
        }
        try ask(asked.kind, plan, at: moment, &tally, corrections: asked.corrections + 1)
        return asked.kind == .heartbeat ? heartbeat : refresh
    }
}
