import AgentCore
import Sessions
import Wire

/// What the network does, and what becomes of each message in it.
extension World {
    static let latency = Duration.milliseconds(20)

    func happen(_ happening: Happening) async {
        switch happening {
        case .parcel(let parcel): await handOver(parcel)
        case .straggler(let parcel): await deliver(parcel, isStraggler: true)
        case .silence(let link, let board): breakLink(link, of: board)
        case .closed(let machine, let link): closed(machine, link, "the connection ended")
        case .boot(let machine): boot(machine)
        case .authorityStarts: await startAuthority()
        case .worker: await doJob()
        case .housekeeping: await housekeep()
        case .act(let act): await perform(act)
        }
        watch()
    }

    func dispatch(_ parcel: Parcel) { push(.parcel(parcel), after: Self.latency) }

    private func handOver(_ parcel: Parcel) async {
        switch fates.next(parcel.kind, parcel.label) {
        case .lose:
            return
        case .duplicate:
            await deliver(parcel)
            await deliver(parcel)
        case .duplicateLate:
            push(.straggler(parcel), after: .seconds(100))
            await deliver(parcel)
        case .delay:
            push(.straggler(parcel), after: .seconds(3))
        case .delayLong:
            push(.straggler(parcel), after: .seconds(75))
        case .drop:
            guard let (machine, link) = parcel.link else { return }
            breakLink(link, of: state.boards[machine].installation)
            push(.closed(machine: machine, link: link), after: Self.latency)
        default:
            await deliver(parcel)
        }
    }

    /// A straggler comes over whatever connection there is by then: a broker may be hostile.
    private func deliver(_ parcel: Parcel, isStraggler: Bool = false) async {
        switch parcel {
        case .connect(let machine, let link, let login): connect(machine, link, login)
        case .connectAnswer(let machine, let link, let isIn):
            guard state.boards[machine].link == link else { return }
            if isIn { tell(machine, .uplink(.connected)) } else { refused(machine) }
        case .subscribe(let machine, let link): subscribe(machine, link)
        case .subscribed(let machine, let link):
            guard state.boards[machine].link == link else { return }
            state.boards[machine].linkDeadline = nil
            tell(machine, .uplink(.ready))
        case .publish(let machine, let link, let publication, let retain):
            let board = state.boards[machine].installation
            guard isStraggler || state.broker.link(link, of: board) != nil else { return }
            published(publication, retain: retain)
        case .inbox(let machine, let link, let payload):
            let own = state.boards[machine].link
            guard own == link || isStraggler && own != nil else { return }
            tell(machine, .inbox(payload))
        case .heard(let topic, let payload):
            await hear(payload, on: topic, parcel)
        }
    }

    private func connect(_ machine: Int, _ link: Int, _ login: UplinkLogin) {
        let board = state.boards[machine].installation
        guard state.boards[machine].link == link else { return }
        let isIn = state.broker.admits(board, login)
        if isIn {
            // Of two connections under one client id the older goes.
            if let other = state.broker.links[board] {
                breakLink(other.id, of: board)
                push(.closed(machine: other.machine, link: other.id), after: Self.latency)
            }
            let will = login.will.map { will in
                SimulatedBroker.Publication(topic: will.topic, payload: will.payload)
            }
            state.broker.links[board] = SimulatedBroker.Link(
                id: link, machine: machine, will: will)
        }
        dispatch(.connectAnswer(machine: machine, link: link, isIn: isIn))
    }

    private func subscribe(_ machine: Int, _ link: Int) {
        let board = state.boards[machine].installation
        guard state.broker.link(link, of: board) != nil else { return }
        state.broker.links[board]?.isSubscribed = true
        dispatch(.subscribed(machine: machine, link: link))
        let inbox = ContractTopic.inbox(board).text(under: .standard)
        if let payload = state.broker.retained(on: inbox, at: state.now) {
            dispatch(.inbox(machine: machine, link: link, payload: payload))
        }
    }

    /// A message reaches the broker, which files it and passes it on.
    func published(
        _ publication: SimulatedBroker.Publication, retain: Bool, until: Duration? = nil
    ) {
        state.broker.see(publication)
        if retain { state.broker.retain(publication, until: until) }
        guard let topic = ContractTopic(publication.topic, under: .standard) else { return }
        switch topic {
        case .outbox, .status:
            dispatch(.heard(topic, payload: publication.payload))
        case .inbox(let board):
            guard let link = state.broker.links[board], link.isSubscribed else { return }
            dispatch(.inbox(
                machine: link.machine, link: link.id, payload: publication.payload))
        case .data:
            break
        }
    }

    /// The broker finds a link dead: its will is done, and nothing more comes over it.
    func breakLink(_ id: Int, of board: InstallationID) {
        guard let link = state.broker.link(id, of: board) else { return }
        state.broker.links[board] = nil
        if let will = link.will { published(will, retain: true) }
    }

    /// The broker ends a board's connection, and says nothing for it.
    func kick(_ board: InstallationID) {
        guard let link = state.broker.links[board] else { return }
        state.broker.links[board] = nil
        push(.closed(machine: link.machine, link: link.id), after: Self.latency)
    }

    /// Every connection ends, what is on its way is lost, and the authority comes anew.
    func restartBroker(keepsDisk: Bool) {
        state.queue.removeAll { queued in
            switch queued.happening {
            case .parcel, .straggler: true
            default: false
            }
        }
        state.broker.links.removeAll()
        if !keepsDisk { state.broker.forget() }
        for machine in state.boards.indices {
            guard let link = state.boards[machine].link else { continue }
            push(.closed(machine: machine, link: link), after: Self.latency)
        }
        killAuthority()
    }

    /// The outage is over, and it took every connection with it.
    func heal() {
        fates.calm(true)
        state.healedAt = state.now
        note("healed")
        for machine in state.boards.indices {
            guard let link = state.boards[machine].link else { continue }
            breakLink(link, of: state.boards[machine].installation)
            push(.closed(machine: machine, link: link))
        }
    }
}
