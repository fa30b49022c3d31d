import AgentCore
import Gate
import Sessions
import Wire

/// What happens on a board: events go in, and the effects are done one by one.
extension World {
    func boot(_ machine: Int) {
        guard state.boards[machine].agent == nil else { return }
        let disk = state.boards[machine].disk
        state.boards[machine].bootedAt = state.now
        do {
            state.boards[machine].agent = Agent(
                settings: SimulatedBoard.settings,
                cryptography: SimulatedBoardCryptography(sealing), records: try disk.load(),
                policy: nil, window: disk.window, keys: disk.keys, queue: disk.queue)
        } catch {
            fates.violate("the board's own records cannot be read: \(error)")
        }
        note("board \(machine) starts")
        tell(machine, .started)
        tell(machine, .busConnected(resumed: true))
    }

    /// The power fails: what is durable is all there is.
    func cutPower(of machine: Int) {
        guard state.boards[machine].agent != nil else { return }
        note("board \(machine) loses power")
        let board = state.boards[machine].installation
        if let link = state.boards[machine].link {
            push(.silence(link: link, board: board), after: .seconds(90))
        }
        state.boards[machine].agent = nil
        state.boards[machine].link = nil
        state.boards[machine].linkDeadline = nil
        push(.boot(machine: machine), after: .seconds(4))
    }

    func wake(_ machine: Int) {
        if let deadline = state.boards[machine].linkDeadline, deadline <= state.now,
            let link = state.boards[machine].link
        {
            breakLink(link, of: state.boards[machine].installation)
            closed(machine, link, "no answer within 30 s")
        }
        tell(machine, .deadline)
    }

    func closed(_ machine: Int, _ link: Int, _ text: String) {
        guard state.boards[machine].link == link else { return }
        state.boards[machine].link = nil
        state.boards[machine].linkDeadline = nil
        tell(machine, .uplink(.lost(text)))
    }

    func refused(_ machine: Int) {
        state.boards[machine].link = nil
        state.boards[machine].linkDeadline = nil
        tell(machine, .uplink(.refused("MQTT: not authorized")))
    }

    func tell(_ machine: Int, _ event: AgentEvent) {
        let instant = state.boards[machine].instant(at: state.now)
        guard let effects = state.boards[machine].agent?.handle(event, at: instant) else { return }
        for effect in effects {
            if case .log(_, let text) = effect { note("board \(machine): \(text)") }
            guard effect.isFelt else { continue }
            let fault = fates.next(.effect, "\(machine) \(effect.label)")
            if fault == .cutBefore { return cutPower(of: machine) }
            perform(effect, on: machine)
            if fault == .cutAfter { return cutPower(of: machine) }
        }
    }

    private func perform(_ effect: AgentEffect, on machine: Int) {
        switch effect {
        case .commit(let changes):
            for fault in state.boards[machine].disk.commit(changes) { fates.violate(fault) }
            keepSecrets(of: machine)
            watch()
        case .connectUplink(let login):
            hangUp(machine, isClean: true)
            state.lastLink += 1
            state.boards[machine].link = state.lastLink
            state.boards[machine].linkDeadline = state.now + .seconds(30)
            dispatch(.connect(machine: machine, link: state.lastLink, login))
        case .disconnectUplink: hangUp(machine, isClean: true)
        case .abandonUplink: hangUp(machine, isClean: false)
        case .subscribeInbox:
            guard let link = state.boards[machine].link else { return }
            dispatch(.subscribe(machine: machine, link: link))
        case .send(let topic, let payload):
            state.boards[machine].sent.append(state.now)
            publish(.init(topic: topic, payload: payload), retain: false, from: machine)
        case .publishStatus(let topic, let status):
            publish(.init(topic: topic, payload: status.payload), retain: true, from: machine)
        case .answer(_, let json):
            guard let url = json.asObject?["url"]?.asString else { return }
            state.boards[machine].url = try? ClaimURL(url)
        case .publishBus, .publishCommand, .forward, .grant, .retryForwarding, .readBus,
            .holdBus, .readRoutes, .restore, .log, .exit, .askToJoin:
            break
        }
    }

    private func publish(
        _ publication: SimulatedBroker.Publication, retain: Bool, from machine: Int
    ) {
        guard let link = state.boards[machine].link else { return }
        dispatch(.publish(machine: machine, link: link, publication, retain: retain))
    }

    /// The board ends its connection. With a DISCONNECT the broker forgets the will.
    private func hangUp(_ machine: Int, isClean: Bool) {
        guard let link = state.boards[machine].link else { return }
        let board = state.boards[machine].installation
        state.boards[machine].link = nil
        state.boards[machine].linkDeadline = nil
        if isClean, state.broker.link(link, of: board) != nil {
            state.broker.links[board] = nil
        } else {
            breakLink(link, of: board)
        }
    }
}
