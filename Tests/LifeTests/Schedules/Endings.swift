import AgentCore
import Sessions
import Wire

@testable import AuthorityCore

/// How a run may end, once the network is well again.
enum Ending: Sendable {
    /// In use by this person, on both sides alike, and refreshed since.
    case live(person: Int)
    /// Over on both sides, its tokens destroyed, the board's login gone.
    case over([UnavailableReason])
    /// Either, as the authority has it.
    case agreed
    /// Two machines with one state: found, and both stopped.
    case theft
}

extension World {
    /// What is still to come before a run may end so; nil when all is as it must be.
    func unsettled(for ending: Ending) -> String? {
        guard state.authorityIsUp else { return "the authority is away" }
        guard store.tables.jobs.isEmpty else { return "the broker is not told yet" }
        switch ending {
        case .live(let person):
            return live(0, person)
        case .over(let reasons):
            guard let reason = state.boards[0].disk.memory?.ended, reasons.contains(reason)
            else { return "the board knows of no such end" }
            return over(0)
        case .agreed:
            let active = store.tables.active(on: state.boards[0].installation)
            return active == nil ? over(0) : live(0, nil)
        case .theft:
            let reuse = store.tables.events("session.reuse")
            guard reuse.count == 1 else { return "reuse was found \(reuse.count) times" }
            guard reuse.allSatisfy({ $0.detail.split(separator: "request ").count == 3 }) else {
                return "the audit log does not have both uses"
            }
            return state.boards.indices.contains { state.boards[$0].disk.session != nil }
                ? "a machine still holds the session" : nil
        }
    }

    /// After a theft: the farewell, which is for both, has its end, too.
    func unsettledAfterTheft() -> String? {
        for machine in state.boards.indices {
            if let left = over(machine) { return left }
        }
        return nil
    }

    /// A claim is open that the board can take, for it holds the secret.
    private func awaits(_ claim: ClaimRecord, _ machine: Int) -> Bool {
        guard let secret = state.boards[machine].disk.claim?.secret else { return false }
        let hash = try? authority.hash(of: secret)
        return hash == claim.secretHash
    }

    private func live(_ machine: Int, _ person: Int?) -> String? {
        let (board, tables) = (state.boards[machine], store.tables)
        let installation = board.installation
        guard let agent = board.agent else { return "the board has no power" }
        guard let active = tables.active(on: installation) else { return "no session lives" }
        if let person, active.session.user != state.people[person].user.objectID {
            return "the session is another's"
        }
        guard let held = board.disk.session, held.session.objectID == active.id else {
            return "the board does not hold the session that lives"
        }
        guard agent.sessionState(at: board.instant(at: state.now)) == .available else {
            return "the session is not available on the board"
        }
        guard active.scopeNotice == nil, held.scope?.json.text == active.scope?.text else {
            return "the board has not confirmed its scope"
        }
        let healedAt = SimulatedBoard.start + state.healedAt
        guard active.lastSeen > healedAt else { return "no heartbeat since" }
        guard let own = rotation(of: machine), let family = tables.families[own.family],
            own.generation == family.generation, held.pendingRefresh == nil
        else { return "a refresh is under way" }
        guard let use = family.lastUse, use > healedAt else { return "no refresh since" }
        return broker(machine, tables)
    }

    private func broker(_ machine: Int, _ tables: Tables) -> String? {
        let board = state.boards[machine]
        let installation = board.installation
        guard let trust = board.disk.trust, trust.isAcknowledged else {
            return "the acceptance was not heard"
        }
        let claim = tables.openClaim(on: installation)
        if let claim, awaits(claim, machine) { return "a provisioning is not accepted yet" }
        let inbox = ContractTopic.inbox(installation).text(under: .standard)
        guard claim != nil || state.broker.retained(on: inbox, at: state.now) == nil else {
            return "the inbox still retains a message"
        }
        guard let password = tables.passwords[installation],
            let client = state.broker.clients[installation], client.mayPublishData,
            client.password.matches(password)
        else { return "the broker has another login" }
        guard trust.broker?.password?.matches(password) == true, trust.firstPassword == nil
        else { return "the board logs in by another password" }
        return state.broker.links[installation] == nil ? "the board is not connected" : nil
    }

    private func over(_ machine: Int) -> String? {
        let (board, tables) = (state.boards[machine], store.tables)
        let installation = board.installation
        guard let agent = board.agent else { return "the board has no power" }
        guard board.disk.session == nil else { return "the board holds a session" }
        if case .available = agent.sessionState(at: board.instant(at: state.now)) {
            return "the session is available on the board"
        }
        guard tables.active(on: installation) == nil else { return "a session lives" }
        if let claim = tables.openClaim(on: installation) {
            // Of an earlier secret: it is void by itself in a day.
            return awaits(claim, machine) ? "a provisioning is not accepted yet" : nil
        }
        guard tables.departing(on: installation) == nil else { return "a farewell is awaited" }
        guard tables.passwords[installation] == nil, state.broker.clients[installation] == nil
        else { return "the broker still has the board's client" }
        let inbox = ContractTopic.inbox(installation).text(under: .standard)
        guard state.broker.retained(on: inbox, at: state.now) == nil else {
            return "the inbox still retains a message"
        }
        let text = board.disk.text
        return tokens.contains { text.contains(String(decoding: $0.reveal(), as: UTF8.self)) }
            ? "tokens are left on the board" : nil
    }
}
