import AgentCore
import AuthorityCore
import Gate
import Sessions
import Wire

/// What people do, who try again when something was away.
extension World {
    private static let patience = Duration.seconds(10)

    func perform(_ act: Act) async {
        note("\(act)")
        switch act {
        case .pair(let machine, let fresh): pair(machine, fresh, act)
        case .claim(let machine, let person): await claim(machine, person, act)
        case .revoke(let machine, let person):
            guard let active = store.tables.active(on: state.boards[machine].installation) else {
                return
            }
            await order(act) { world throws(AuthorityError) in
                try await world.authority.revoke(active.id, by: world.state.people[person])
            }
        case .release(let machine, let person):
            await order(act) { world throws(AuthorityError) in
                try await world.authority.release(
                    world.state.boards[machine].installation, by: world.state.people[person])
            }
        case .changeScope(let machine, let person, let isNarrow):
            guard let active = store.tables.active(on: state.boards[machine].installation) else {
                return
            }
            let rules = isNarrow
                ? [JSONValue.object(["class": .string("Alarm"), "allow": .array([])])] : []
            await order(act) { world throws(AuthorityError) in
                _ = try await world.authority.setScope(
                    ScopeDocument(unchecked: .object(["rules": .array(rules)])), of: active.id,
                    by: world.state.people[person])
            }
        case .signOut(let machine):
            guard state.boards[machine].agent != nil else { return again(act) }
            tell(machine, .control(.logout, connection: 1))
            // Power was cut before anything of it was durable: whoever asked sees no answer.
            if state.boards[machine].disk.session != nil { again(act) }
        case .write(let machine): write(machine)
        case .powerCut(let machine): cutPower(of: machine)
        case .setWall(let machine, let wall): state.boards[machine].wall = wall
        case .brokerRestart(let keepsDisk): restartBroker(keepsDisk: keepsDisk)
        case .steal(let machine): steal(machine)
        }
    }

    private func again(_ act: Act) { push(.act(act), after: Self.patience) }

    /// Somebody at the board's side asks until a claim URL is shown.
    private func pair(_ machine: Int, _ fresh: Bool, _ act: Act) {
        state.boards[machine].url = nil
        guard state.boards[machine].agent != nil else { return again(act) }
        tell(machine, .control(fresh ? .pairNew : .pair, connection: 1))
        if state.boards[machine].url == nil { again(act) }
    }

    private func claim(_ machine: Int, _ person: Int, _ act: Act) async {
        guard let url = state.boards[machine].url else { return again(act) }
        await order(act) { world throws(AuthorityError) in
            _ = try await world.authority.claim(
                ClaimOrder(url: url, duration: nil, scope: nil), by: world.state.people[person])
        }
    }

    private func order(
        _ act: Act, _ body: (World) async throws(AuthorityError) -> Void
    ) async {
        guard state.authorityIsUp else { return again(act) }
        do throws(AuthorityError) {
            try await body(self)
            engageWorker()
        } catch {
            note("the order fails: \(error)")
            if store.takeDeath() { killAuthority() }
            engageWorker()
            switch error {
            case .refused(let refusal): state.refusals.append(refusal)
            case .failed: again(act)
            }
        }
    }

    /// A program on the board writes. A write that found no power, or lost it before the answer,
    /// is made again: with the same key, in another packet.
    private func write(_ machine: Int) {
        guard state.boards[machine].agent != nil else { return again(.write(machine: machine)) }
        if !state.boards[machine].lacksAnswer { state.boards[machine].writeCount += 1 }
        state.boards[machine].packetCount += 1
        let (count, packet) = (state.boards[machine].writeCount, state.boards[machine].packetCount)
        tell(machine, .bus([BusMessage(
            topic: "postern/app/thermo/create/Reading", payload: Array("\(count)".utf8),
            isRetained: false, packetID: UInt16(truncatingIfNeeded: packet), responseTopic: nil,
            correlation: nil, key: .key("write \(count)"))]))
        state.boards[machine].lacksAnswer = state.boards[machine].agent == nil
        if state.boards[machine].lacksAnswer { again(.write(machine: machine)) }
    }

    /// The state folder is copied while the board is off for a moment, and both start on it.
    private func steal(_ machine: Int) {
        state.expectsTheft = true
        var copy = SimulatedBoard(disk: state.boards[machine].disk, wall: .skewed(.zero))
        copy.bootedAt = state.now
        state.boards.append(copy)
        boot(state.boards.count - 1)
    }
}
