import Gate
package import Sessions
import Wire

extension Agent {
    /// Takes a command of the authority. Its id is durable before anything goes to the app.
    ///
    /// If a reason may pass, such as an unset clock, nothing is done: the authority sends the
    /// command again.
    /// Source: the wire contract, What the board does with a command.
    mutating func take(
        _ command: BoardCommand, _ id: MessageID, at instant: Instant
    ) {
        guard records.session?.session.objectID == command.session else {
            let refusal = Refusal(.invalidSession, "this board does not hold that session")
            return tellOnce(
                .refused(refusal, rule: nil, field: nil), of: id, command.session, at: instant)
        }
        if let known = records.commands.find(id) { return tellAgain(known, at: instant) }
        guard !clock.isUnset(at: instant), case .available = sessionState(at: instant) else {
            return
        }
        let now = clock.now(at: instant)
        guard command.deadline <= now + TakenCommands.furthest else { return }
        guard command.deadline > now else { return takeLate(command, id, at: instant) }
        guard command.deadline > records.commands.floor else {
            return refuseForgotten(command, id, at: instant)
        }
        guard makeRoom(at: now) else { return }
        let rejection = rules.rejection(of: command, at: instant.monotonic)
        // The rate lets it through before its deadline.
        if let wait = rejection?.wait, now + wait < command.deadline { return }
        keep(command, id, rejection.map { .refused(by: $0) })
        if rejection != nil {
            tellFinal(id, at: instant)
        } else {
            commands.wait(id, command.content, at: instant.monotonic)
        }
    }

    private mutating func keep(
        _ command: BoardCommand, _ id: MessageID, _ result: CommandResult.State?
    ) {
        records.commands.add(TakenCommand(
            id: id, session: command.session, app: AppName(command.app),
            deadline: command.deadline, result: result))
        commitCommands()
    }

    /// A command that came after its deadline. It stays expired if the clock is set back.
    ///
    /// Its id is kept rather than a higher floor: with a clock that is ahead, a floor would refuse
    /// later commands once the clock is right.
    private mutating func takeLate(
        _ command: BoardCommand, _ id: MessageID, at instant: Instant
    ) {
        let result = CommandResult.State.expired(delivered: false)
        if command.deadline > records.commands.floor {
            let isFull = records.commands.isFull
            guard isFull, !makeRoom(at: clock.now(at: instant)) else {
                keep(command, id, result)
                return tellFinal(id, at: instant)
            }
            records.commands.raiseFloor(to: command.deadline)
            commitCommands()
            commands.count(result)
        }
        tellOnce(result, of: id, command.session, at: instant)
    }

    /// The deadline is to come, but the board forgot the ids of such commands.
    private mutating func refuseForgotten(
        _ command: BoardCommand, _ id: MessageID, at instant: Instant
    ) {
        if commands.isNews(floor: records.commands.floor) {
            emit(.log(.warning, "commands with a deadline up to \(records.commands.floor) are "
                + "refused: \(Self.forgotten)"))
            // A memory that could not be read is readable again.
            commitCommands()
        }
        let rejection = Rejection(
            code: .validation, rule: .builtin(.command), reason: Self.forgotten)
        tellOnce(.refused(by: rejection), of: id, command.session, at: instant)
    }

    private static let forgotten = "the board's clock was set back, or its memory of commands was "
        + "lost, so it cannot tell whether it had this one"

    /// Sends the current result again. There is none while the command waits for a subscriber.
    private mutating func tellAgain(_ command: TakenCommand, at instant: Instant) {
        guard let result = command.result else { return }
        if command.isUnconfirmed {
            commands.hasten(command.id, at: instant.monotonic)
        } else {
            tellOnce(result, of: command.id, command.session, at: instant)
        }
    }

    private mutating func makeRoom(at now: Timestamp) -> Bool {
        let hasRoom = records.commands.makeRoom(at: now)
        for id in commands.requested where records.commands.find(id) == nil {
            commands.finish(id)
        }
        return hasRoom
    }

    mutating func commitCommands() { emit(.commit([.commands(records.commands)])) }

    /// Forgets all commands with their session. Returns the change to commit.
    mutating func forgetCommands() -> [RecordChange] {
        commands.forgetAll()
        guard !records.commands.isEmpty else { return [] }
        records.commands = TakenCommands()
        return [.commands(records.commands)]
    }

    /// Forgets at a stop the ids of commands that nobody can have got, so that the next start
    /// takes them again.
    mutating func giveBackCommands() {
        let held = commands.held
        guard !held.isEmpty else { return }
        for id in held { records.commands.giveBack(id) }
        commitCommands()
    }
}

// The way to the app.
extension Agent {
    /// When something is due for a command. Nil: no command waits for anything.
    package func commandDeadline(at instant: Instant) -> Duration? {
        var due: [Duration?] = []
        if bus.isConnected, !clock.isUnset(at: instant) { due.append(commands.nextPublication) }
        if uplink.isReady { due.append(commands.nextResult) }
        if !clock.isUnset(at: instant) {
            let now = clock.now(at: instant)
            due += records.commands.all.filter(\.isOpen).map { command in
                instant.monotonic + max(command.deadline - now, .zero)
            }
        }
        return due.compactMap(\.self).min()
    }

    /// Does everything that is due for commands.
    mutating func keepCommands(at instant: Instant) {
        guard !records.commands.isEmpty else { return }
        expireCommands(at: instant)
        publishCommands(at: instant)
        sendDueResults(at: instant)
    }

    /// This and `delivered` commit nothing, because the disk may be full. After a restart such a
    /// command counts as delivered, and its deadline is known.
    private mutating func expireCommands(at instant: Instant) {
        guard !clock.isUnset(at: instant) else { return }
        let now = clock.now(at: instant)
        let late = records.commands.all.filter { $0.isOpen && $0.deadline <= now }
        guard !late.isEmpty else { return }
        for command in late {
            let mayBeThere = command.result != nil || commands.isOnItsWay(command.id)
            commands.stopWaiting(command.id)
            records.commands.change(command.id) { $0.result = .expired(delivered: mayBeThere) }
        }
        for command in late { tellFinal(command.id, at: instant) }
    }

    private mutating func publishCommands(at instant: Instant) {
        guard bus.isConnected, !clock.isUnset(at: instant) else { return }
        let now = clock.now(at: instant)
        for (id, content) in commands.takeDue(at: instant.monotonic) {
            guard let command = records.commands.find(id), let app = command.app else { continue }
            let left = (command.deadline - now).components.seconds
            emit(.publishCommand(id, BusPublication(
                topic: BusTopic.command(app),
                payload: JSONValue.object([
                    "id": .string(id.description), "deadline": .time(command.deadline),
                    "command": content,
                ]).bytes, retain: false,
                expiry: UInt32(clamping: max(left, 1)))))
        }
    }

    /// Takes the outcome of one try to publish a command.
    mutating func commandPublished(
        _ id: MessageID, _ outcome: CommandPublication, at instant: Instant
    ) {
        switch outcome {
        case .taken:
            commands.stopWaiting(id)
            delivered(id, isUncertain: false, at: instant)
        case .lost:
            commands.stopWaiting(id)
            delivered(id, isUncertain: true, at: instant)
        case .unheard, .unsent: commands.failed(id, at: instant.monotonic)
        }
    }

    private mutating func delivered(
        _ id: MessageID, isUncertain: Bool, at instant: Instant
    ) {
        guard let command = records.commands.find(id), command.result == nil else { return }
        let result = CommandResult.State.delivered(isUncertain: isUncertain)
        records.commands.change(id) { $0.result = result }
        commands.count(result)
        tellOnce(result, of: id, command.session, at: instant)
    }
}
