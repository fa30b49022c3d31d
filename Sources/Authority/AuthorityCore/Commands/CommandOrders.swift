package import Gate
package import Sessions
import Wire

/// A person's order to send a command to an app on a board.
package struct CommandOrder: Sendable {
    package static let waits = Duration.seconds(1)...BoardCommand.longestWait
    package static let usualWait = Duration.seconds(60)

    package let board: InstallationID
    package let app: AppName
    package let content: JSONValue
    /// How long the command may wait.
    package let wait: Duration

    package init(
        board: InstallationID, app: AppName, content: JSONValue, wait: Duration = usualWait
    ) {
        self.board = board
        self.app = app
        self.content = content
        self.wait = wait
    }
}

/// A command with the name of the user who sent it.
package struct SentCommand: Equatable, Sendable {
    package let record: CommandRecord
    package let username: String?

    package init(record: CommandRecord, username: String?) {
        self.record = record
        self.username = username
    }
}

package protocol CommandFrontend: Sendable {
    /// Sends a command. The caller's own board, or any board for an administrator; otherwise 101.
    /// 119 if the board has no living session, or if it has reported that it takes no commands for
    /// the app; 140 while too many wait; 155 for too many at a time; 142 and 116 for an order
    /// outside the limits.
    func send(
        _ order: CommandOrder, by caller: Caller
    ) async throws(AuthorityError) -> SentCommand
    /// The newest commands of a board, for the same callers. A restricted session finds no board.
    func commands(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> [SentCommand]
    /// One of them; 101 if the board has no such command.
    func command(
        _ id: MessageID, of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> SentCommand
}

extension Authority {
    package func send(
        _ order: CommandOrder, by caller: Caller
    ) async throws(AuthorityError) -> SentCommand {
        guard CommandOrder.waits.contains(order.wait) else {
            throw .refuse(.validation, "a command waits from 1 s to 24 h")
        }
        let text = order.content.text
        guard text.utf8.count <= BoardCommand.sizeLimit else {
            throw .refuse(.tooLarge, "a command has at most \(BoardCommand.sizeLimit) bytes")
        }
        return try await act(.sendCommand, by: caller) { act throws(AuthorityError) in
            let session = try act.commandable(order.board, order.app)
            try act.requireRoom(on: order.board)
            let command = CommandRecord(
                id: try newMessageID(), board: order.board, session: session.id,
                user: act.user.objectID, app: order.app, text: text, createdAt: act.now,
                deadline: (act.now + order.wait).wholeSecondsUp)
            try act.transaction.insert(command)
            try act.transaction.add(.commands(order.board))
            try note(
                "command.sent", command, actor: act.user.username, "", act.transaction, act.now)
            return SentCommand(record: command, username: act.user.username)
        }
    }

    package func commands(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> [SentCommand] {
        try await look(.commands, by: caller) { act throws(AuthorityError) in
            _ = try act.board(board, to: .own)
            var found: [SentCommand] = []
            for record in try act.transaction.commands(
                of: board, limit: CommandLimits.listLength)
            {
                found.append(try act.sent(record))
            }
            return found
        }
    }

    package func command(
        _ id: MessageID, of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> SentCommand {
        try await look(.commands, by: caller) { act throws(AuthorityError) in
            _ = try act.board(board, to: .own)
            guard let record = try act.transaction.command(id), record.board == board else {
                throw .refuse(.notFound, "no such command")
            }
            return try act.sent(record)
        }
    }

    /// Adds a command's event to the audit log. It never has the command's text or its answer.
    func note(
        _ event: String, _ command: CommandRecord, actor: String, _ detail: String,
        _ transaction: any AuthorityTransaction, _ now: Timestamp
    ) throws(AuthorityError) {
        try audit(
            event, actor, command.board, command.session,
            "\(command.app) \(command.id)\(detail)", transaction, at: now)
    }
}

extension Act {
    fileprivate func sent(_ record: CommandRecord) throws(AuthorityError) -> SentCommand {
        SentCommand(record: record, username: try transaction.user(record.user)?.username)
    }

    /// The living session of a board to whose app the caller may send commands.
    fileprivate func commandable(
        _ board: InstallationID, _ app: AppName
    ) throws(AuthorityError) -> SessionRecord {
        _ = try self.board(board, to: .own)
        guard let session = try transaction.activeSession(on: board),
            session.isLive(at: now, under: authority.rules.lifetimes)
        else {
            throw .refuse(
                .forbidden, "the board has no session now: renew it, or pair the board again")
        }
        let rules = try transaction.report(of: board)?.report.rules
        guard rules?.takesCommands(for: app) != false else {
            throw .refuse(
                .forbidden, "the board's policy takes no commands for \(app): write commands = true"
                    + " below [app.\(app)] in policy.toml on the board; the authority learns of"
                    + " it at the board's next heartbeat")
        }
        return session
    }

    fileprivate func requireRoom(on board: InstallationID) throws(AuthorityError) {
        let open = try transaction.openCommands(of: board)
        guard open.count < CommandLimits.waitingLimit else {
            throw .refuse(
                .quota, "\(open.count) commands of this board wait: wait until one has ended")
        }
        let ahead = try transaction.commandCount(of: board, deadlineAfter: now)
        guard ahead < CommandLimits.aheadLimit else {
            throw .refuse(
                .quota, "\(ahead) commands of this board have deadlines to come, and it keeps"
                    + " their ids until then: wait, or use shorter deadlines")
        }
        let rate = authority.rules.commandRate
        let window = rate.unit.length
        let earlier = try transaction.commandTime(
            of: board, skipping: Int(rate.count) - 1, since: now - window)
        if let earlier {
            throw .refused(.tooMany("commands to this board", wait: earlier + window - now))
        }
    }
}

extension BoardReport.Rules {
    /// Whether the board's policy file takes commands for an app. Nil: it is not known.
    func takesCommands(for app: AppName) -> Bool? {
        switch self {
        case .noFile: return false
        case .omitted: return nil
        case .file(let document):
            let entry = document.json.asObject?["apps"]?.asObject?[app.description]?.asObject
            return entry?["commands"]?.asBool == true
        }
    }
}

extension Timestamp {
    /// The messages have whole seconds.
    fileprivate var wholeSecondsUp: Timestamp {
        Timestamp(milliseconds: (milliseconds + 999) / 1000 * 1000)
    }
}
