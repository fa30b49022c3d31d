import Sessions
import Wire

// What a simulated board says.
extension FleetBoard {
    /// Does what is due.
    mutating func wake(
        _ plan: FleetPlan, at moment: Moment, _ tally: inout FleetTally
    ) throws(SimulationFault) {
        guard phase == .alive, isReachable else { return }
        if work == .load {
            if heartbeat == nil, let due = heartbeatAt, due <= moment.now {
                heartbeatAt = nil
                try ask(.heartbeat, plan, at: moment, &tally)
            }
            if refresh == nil, let due = refreshAt, due <= moment.now {
                try beginRefresh(plan, at: moment, &tally)
            }
            sendReplay(at: moment, &tally)
        }
        if work == .load || thief?.hasStruck == true { try strike(plan, at: moment, &tally) }
        heartbeat = try repeated(heartbeat, plan, at: moment, &tally.heartbeats)
        refresh = try repeated(refresh, plan, at: moment, &tally.refreshes)
    }

    /// Not while a copy of the last refresh is on its way: behind the next one the authority
    /// would have to take it for theft, and it would be right.
    private mutating func beginRefresh(
        _ plan: FleetPlan, at moment: Moment, _ tally: inout FleetTally
    ) throws(SimulationFault) {
        if let copy = replay, copy.kind == .refresh {
            if let sent = copy.sentAt, moment.now - sent < FleetReplay.patience {
                refreshAt = moment.now + .seconds(1)
                return
            }
            replay = nil
        }
        refreshAt = nil
        try ask(.refresh, plan, at: moment, &tally)
    }

    mutating func ask(
        _ kind: SimulatedBoard.Request, _ plan: FleetPlan, at moment: Moment,
        _ tally: inout FleetTally, corrections: Int = 0
    ) throws(SimulationFault) {
        let id = try SimulatedBoard.newID()
        guard let payload = try base.payload(of: kind, id: id, wall: clock(moment)) else { return }
        outgoing.append(payload)
        let request = FleetRequest(
            kind: kind, id: id, since: moment.now, payload: payload,
            issued: clock(moment)...clock(moment), repeatAt: moment.now + plan.patience,
            corrections: corrections)
        switch kind {
        case .heartbeat:
            heartbeat = request
            tally.heartbeats.asked += 1
        case .refresh:
            refresh = request
            tally.refreshes.asked += 1
        }
    }

    /// The request once more where its time has come: the same id, a fresh `iat`.
    private mutating func repeated(
        _ request: FleetRequest?, _ plan: FleetPlan, at moment: Moment,
        _ tally: inout RequestTally
    ) throws(SimulationFault) -> FleetRequest? {
        guard var again = request, again.repeatAt <= moment.now,
            let payload = try base.payload(of: again.kind, id: again.id, wall: clock(moment))
        else { return request }
        again.sentAgain(payload, under: clock(moment))
        again.putOff(at: moment.now, patience: plan.patience, &random)
        tally.repeated += 1
        outgoing.append(payload)
        return again
    }

    /// The thief presents the spent token under an id of its own, and asks again until it is
    /// answered. It speaks over the board's own connection, as one who has stolen its login.
    private mutating func strike(
        _ plan: FleetPlan, at moment: Moment, _ tally: inout FleetTally
    ) throws(SimulationFault) {
        guard var thief, !thief.isTold, let token = spent, let life = base.life else { return }
        guard moment.now >= (thief.hasStruck ? thief.repeatAt : thief.strikeAt) else { return }
        if !thief.hasStruck { tally.thefts.injected += 1 }
        let id: MessageID
        if let known = thief.id { id = known } else { id = try SimulatedBoard.newID() }
        thief.id = id
        thief.tries += 1
        thief.repeatAt = moment.now + plan.patience * min(thief.tries, 6)
        self.thief = thief
        outgoing.append(try base.seal(
            BoardMessage(
                id: id, issuedAt: moment.wall, clockUnset: false, body: .refresh(token)), life))
    }

    private mutating func sendReplay(at moment: Moment, _ tally: inout FleetTally) {
        guard let copy = replay, copy.sentAt == nil, copy.at <= moment.now else { return }
        replay?.sentAt = moment.now
        tally.replays.injected += 1
        outgoing.append(copy.payload)
    }

    /// `provision.accepted` at each connect, until any reply has come.
    mutating func acknowledge(at moment: Moment) {
        guard let re = unacknowledged, let life = base.life, phase == .alive,
            let id = try? SimulatedBoard.newID(),
            let payload = try? base.seal(
                BoardMessage(
                    id: id, issuedAt: clock(moment), clockUnset: false,
                    body: .provisionAccepted(re: re, session: life.session)), life)
        else { return }
        outgoing.append(payload)
    }
}
