import Gate
package import Sessions
import Wire

/// A sealed command to publish on its board's inbox, not retained.
package struct OutgoingCommand: Sendable {
    package let id: MessageID
    package let payload: [UInt8]
    package let until: Timestamp
}

/// Sends commands, repeats those that the board has not confirmed, and ends them at their deadline.
///
/// A restored store may hold old commands. Those whose deadline has passed expire. The board finds
/// any other by its id, and does not give it to the app again.
extension Authority {
    /// The commands to send to a board now, sealed, each under its own id. They are noted as sent
    /// before they go, so that none ever counts as unsent by mistake.
    ///
    /// A board whose status is not `up` gets them if it used its session since the last sending.
    package func commandsToSend(
        to board: InstallationID
    ) async throws(AuthorityError) -> [OutgoingCommand] {
        let now = clock()
        let found = try await sealedCommands(to: board, at: now)
        let ids = Set(found.filter(\.isFirst).map(\.command.id))
        if !ids.isEmpty {
            try await store.transact { transaction throws(AuthorityError) in
                for var command in try transaction.openCommands(of: board)
                where ids.contains(command.id) {
                    command.sentAt = now
                    try transaction.update(command)
                }
            }
        }
        return found.map(\.command)
    }

    private func sealedCommands(
        to board: InstallationID, at now: Timestamp
    ) async throws(AuthorityError) -> [(command: OutgoingCommand, isFirst: Bool)] {
        try await store.read { transaction throws(AuthorityError) in
            guard let session = try transaction.activeSession(on: board),
                session.isLive(at: now, under: rules.lifetimes), let key = session.deviceKey
            else { return [] }
            let isUp = try transaction.status(of: board)?.up == true
            var found: [(command: OutgoingCommand, isFirst: Bool)] = []
            for command in try transaction.openCommands(of: board)
            where command.session == session.id && command.maySend(at: now) {
                guard isUp || session.lastSeen > command.sentAt ?? command.createdAt,
                    let text = command.text
                else { continue }
                let body = BoardCommand(
                    session: session.id, app: command.app.description,
                    deadline: command.deadline, content: try Self.content(text))
                let message = AuthorityMessage(
                    id: command.id, issuedAt: now, body: .command(body))
                let outgoing = OutgoingCommand(
                    id: command.id, payload: try cryptography.seal(
                        message.plaintext, to: RecipientKey(board: board, key: key),
                        from: keys.seal, topic: inbox(of: board)),
                    until: command.deadline)
                found.append((outgoing, isFirst: command.sentAt == nil))
            }
            return found
        }
    }

    /// The text was checked before it was stored.
    private static func content(_ text: String) throws(AuthorityError) -> JSONValue {
        do {
            return try JSONValue(parsing: Array(text.utf8))
        } catch {
            throw .failed(layer: "store", text: "a stored command is damaged")
        }
    }

    /// Notes that the broker has these commands. Others wait longer for their board.
    package func note(
        sent ids: Set<MessageID>, to board: InstallationID
    ) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            for var command in try transaction.openCommands(of: board)
            where command.state == .waiting {
                if ids.contains(command.id) {
                    command.noteSent(at: now)
                } else if command.maySend(at: now) {
                    command.dueAt = min(now + CommandLimits.awayPause, command.end)
                } else {
                    continue
                }
                try transaction.update(command)
            }
        }
    }

    /// A board has connected: what was sent before may be lost. What was sent less than 10 s ago
    /// waits until then.
    func sendAgain(
        to board: InstallationID, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let waiting = try transaction.openCommands(of: board).filter { $0.state == .waiting }
        guard !waiting.isEmpty else { return }
        for var command in waiting where command.sends > 0 {
            command.restart(at: now)
            try transaction.update(command)
        }
        if waiting.contains(where: { now < $0.deadline }) {
            // A job that runs may have looked before.
            try addSending(to: board, transaction, limit: 2)
        }
    }

    /// Sends the due commands again and ends those whose deadline has passed, at most 200. Costs
    /// one small query if none is due. Call it only while the clock is believed.
    package func tendCommands() async throws(AuthorityError) {
        let now = clock()
        let isDue = try await store.glance { transaction throws(AuthorityError) in
            try !transaction.dueCommands(at: now, limit: 1).isEmpty
        }
        guard isDue else { return }
        try await transactAndTell { transaction throws(AuthorityError) in
            for var command in try transaction.dueCommands(at: now, limit: 200) {
                if now >= command.end {
                    command.endUnheard()
                    try note("command.expired", command, actor: "authority", "", transaction, now)
                } else if command.state == .waiting {
                    command.dueAt = min(now + CommandLimits.pause(after: 1), command.end)
                    try addSending(to: command.board, transaction)
                } else {
                    command.dueAt = command.end
                }
                try transaction.update(command)
            }
        }
    }

    /// While the broker is away, one job is enough.
    private func addSending(
        to board: InstallationID, _ transaction: any AuthorityTransaction, limit: Int = 1
    ) throws(AuthorityError) {
        let job = BrokerJob.commands(board)
        let there = try transaction.jobs(in: job.line).filter { $0.job == job }
        if there.count < limit { try transaction.add(job) }
    }
}
