import Gate
package import Sessions
import Wire

extension Agent {
    /// How far a deadline may be ahead: the longest wait, and how far clocks may differ.
    private static let furthest = BoardCommand.longestWait + .seconds(300)

    /// Takes a command of the authority. Its id is durable before anything goes to the app.
    ///
    /// If a reason may pass, such as an unset clock, nothing is done: the authority sends the
    /// command again.
    /// Source: the wire contract, What the board does with a command.
    mutating func take(
        _ command: BoardCommand, _ id: MessageID, at instant: Instant
    ) throws(InboxFault) {
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
        guard command.deadline <= now + Self.furthest else {
            throw InboxFault("a command whose deadline is too far ahead")
        }
        guard command.deadline > max(now, records.commands.floor) else {
            return tellLate(command, id, at: instant)
        }
        guard makeRoom(at: now) else { return }
        var taken = TakenCommand(
            id: id, session: command.session, app: AppName(command.app),
            deadline: command.deadline)
        if let rejection = rules.rejection(of: command, at: instant.monotonic) {
            taken.result = .refused(by: rejection)
            records.commands.add(taken)
            commitCommands()
            tellFinal(id, at: instant)
        } else {
            records.commands.add(taken)
            commitCommands()
            commands.wait(id, command.content, at: instant.monotonic)
        }
    }

    /// A command that came after its deadline. It stays expired if the clock is set back.
    private mutating func tellLate(
        _ command: BoardCommand, _ id: MessageID, at instant: Instant
    ) {
        if command.deadline > records.commands.floor {
            records.commands.raiseFloor(to: command.deadline)
            commitCommands()
        }
        commands.count(.expired(delivered: false))
        tellOnce(.expired(delivered: false), of: id, command.session, at: instant)
    }

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
        commitCommands()
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
            delivered([id], isUncertain: false, at: instant)
        case .unheard, .unsent: commands.failed(id, at: instant.monotonic)
        }
    }

    /// Nobody knows whether the local broker has the commands that were on their way. They are
    /// never sent again.
    mutating func busLost(at instant: Instant) {
        bus.lost()
        delivered(commands.takeLost(), isUncertain: true, at: instant)
    }

    private mutating func delivered(
        _ ids: [MessageID], isUncertain: Bool, at instant: Instant
    ) {
        let found = ids.compactMap { records.commands.find($0) }.filter { $0.result == nil }
        guard !found.isEmpty else { return }
        let result = CommandResult.State.delivered(isUncertain: isUncertain)
        for command in found {
            records.commands.change(command.id) { $0.result = result }
            commands.count(result)
        }
        commitCommands()
        for command in found { tellOnce(result, of: command.id, command.session, at: instant) }
    }
}
