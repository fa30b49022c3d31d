import AuthorityCore
import Sessions
import Wire

/// What the authority does: it answers, and its worker does one job after the other.
extension World {
    /// Takes what the broker passes on. A message that the authority died over after acting on
    /// it comes again; one that it died over before is lost.
    func hear(_ payload: [UInt8], on topic: ContractTopic, _ parcel: Parcel) async {
        guard state.authorityIsUp else { return push(.parcel(parcel), after: .seconds(1)) }
        let before = store.tables.audit.count
        do throws(AuthorityError) {
            if case .status = topic {
                guard let status = try? BoardStatus(parsing: payload) else { return }
                try await authority.note(status, of: topic.board)
                return
            }
            let answer = try await authority.handle(payload, from: topic.board)
            for entry in store.tables.audit.dropFirst(before) {
                note("audit: \(entry.event) \(entry.detail)")
            }
            if case .dropped(let reason) = answer { note("dropped: \(reason)") }
            if case .reply(let reply) = answer, !publish(reply, to: topic.board) { return }
            worker.wake(topic.board.description)
            engageWorker()
        } catch {
            guard store.takeDeath() else { return fates.violate("the authority: \(error)") }
            killAuthority()
            // Acted on or not, it was not acknowledged.
            push(.parcel(parcel), after: .seconds(6))
        }
    }

    /// False when it could not be done.
    private func publish(_ reply: [UInt8], to board: InstallationID) -> Bool {
        let fault = fates.next(.reply, "")
        if fault == .cutBefore { killAuthority() }
        if fault == .cutBefore || fault == .fail { return false }
        published(
            .init(topic: ContractTopic.inbox(board).text(under: .standard), payload: reply),
            retain: false)
        if fault == .cutAfter { killAuthority() }
        return fault == nil
    }

    func killAuthority() {
        guard state.authorityIsUp else { return }
        note("the authority dies")
        state.authorityIsUp = false
        state.lines.removeAll()
        _ = worker.take()
        push(.authorityStarts, after: .seconds(5))
    }

    /// After each connect the broker is brought in line with the store.
    func startAuthority() async {
        note("the authority starts")
        state.authorityIsUp = true
        let clients = Set(state.broker.clients.keys)
        do throws(AuthorityError) {
            let wanted = try await authority.everyLogin()
            try await authority.restore(
                logins: Array(clients.union(wanted.boards)).sorted { "\($0)" < "\($1)" },
                readers: wanted.readers)
            try await authority.restoreRetained()
            for line in try await authority.linesWithJobs() { worker.wake(line) }
            engageWorker()
        } catch {
            guard store.takeDeath() else { return fates.violate("the start: \(error)") }
            killAuthority()
        }
    }

    /// Its sweeps are no steps: one that fails is made again.
    func housekeep() async {
        push(.housekeeping, after: .seconds(20))
        guard state.authorityIsUp else { return }
        let wasCalm = fates.isCalm
        fates.calm(true)
        do throws(AuthorityError) {
            while try await authority.sweep() {}
        } catch {
            fates.violate("the sweep fails: \(error)")
        }
        fates.calm(wasCalm)
        engageWorker()
    }

    /// Sets the worker to work on what it was woken about.
    func engageWorker() {
        for line in worker.take() where !state.lines.contains(line) { state.lines.append(line) }
        guard !state.lines.isEmpty, !state.workerIsBusy else { return }
        state.workerIsBusy = true
        push(.worker, after: .milliseconds(5))
    }

    func doJob() async {
        state.workerIsBusy = false
        guard state.authorityIsUp, let line = state.lines.first else { return }
        do throws(AuthorityError) {
            guard let job = try await authority.jobs(in: line).first else {
                state.lines.removeFirst()
                return engageWorker()
            }
            let fault = fates.next(.job, job.job.label)
            if fault == .cutBefore { return killAuthority() }
            if fault == .fail {
                // It waits for the next housekeeping.
                state.lines.removeFirst()
                return engageWorker()
            }
            try await perform(job.job)
            if fault == .cutAfter { return killAuthority() }
            try await authority.done(job)
            engageWorker()
        } catch {
            guard store.takeDeath() else { return fates.violate("the worker: \(error)") }
            killAuthority()
        }
    }

    private func perform(_ job: BrokerJob) async throws(AuthorityError) {
        switch job {
        case .login(let board, let password):
            setLogin(of: board, try await authority.desiredState(for: board), password: password)
        case .inbox(let board):
            let desired = try await authority.desiredState(for: board)
            published(
                .init(
                    topic: ContractTopic.inbox(board).text(under: .standard),
                    payload: desired.retained?.payload ?? []),
                retain: true, until: desired.retained.map { $0.until - SimulatedBoard.start })
        case .say(let board, let payload, _):
            published(
                .init(topic: ContractTopic.inbox(board).text(under: .standard), payload: payload),
                retain: false)
        case .commands(let board):
            let due = try await authority.commandsToSend(to: board)
            for command in due {
                published(
                    .init(
                        topic: ContractTopic.inbox(board).text(under: .standard),
                        payload: command.payload),
                    retain: false)
            }
            try await authority.note(sent: Set(due.map(\.id)), to: board)
        case .reader:
            break
        }
    }

    private func setLogin(of board: InstallationID, _ desired: DesiredBoard, password: Bool) {
        guard let login = desired.login else {
            guard state.broker.clients.removeValue(forKey: board) != nil
                || desired.status?.up != false
            else { return }
            kick(board)
            let down = BoardStatus(
                up: false, available: false, version: "", since: clock.now,
                gaps: desired.status?.gaps ?? .none)
            return published(
                .init(
                    topic: ContractTopic.status(board).text(under: .standard),
                    payload: down.payload),
                retain: true)
        }
        let isThere = state.broker.clients[board] != nil
        if !isThere || password {
            state.broker.clients[board] = .init(
                password: login.password, mayPublishData: login.mayPublishData)
        }
        state.broker.clients[board]?.mayPublishData = login.mayPublishData
        if isThere, password { kick(board) }
    }
}

extension BrokerJob {
    fileprivate var label: String {
        switch self {
        case .login(_, let password): password ? "login with password" : "login"
        case .inbox: "inbox"
        case .say: "say"
        case .commands: "commands"
        case .reader: "reader"
        }
    }
}
