import Sessions
import Wire

extension BoardRequest {
    /// Stores what the board says of a command, and confirms a final result, so that the board
    /// stops to repeat it. A result of a command that this board did not get changes nothing.
    func commandResult(_ result: CommandResult) throws(AuthorityError) -> BoardAnswer {
        if var command = try transaction.command(result.re), try isForSender(command, result) {
            try take(result, of: &command)
        }
        return result.isFinal ? try reply(.result(Reply.Result())) : .silent
    }

    private func isForSender(
        _ command: CommandRecord, _ result: CommandResult
    ) throws(AuthorityError) -> Bool {
        guard command.board == sender.board, command.session == result.session,
            let session = try transaction.session(command.session)
        else { return false }
        return owns(session)
    }

    /// A final state stays, except the authority's own word that a command expired: the board's
    /// may be late. A command whose text is deleted keeps no answer.
    private func take(
        _ result: CommandResult, of command: inout CommandRecord
    ) throws(AuthorityError) {
        let isLate = command.isOwnEnd
        guard command.isOpen || isLate else { return }
        switch result.state {
        case .delivered(let isUncertain):
            guard command.state == .waiting || isLate, command.delivery != .sure else { return }
            command.delivery = isUncertain ? .uncertain : .sure
            if !isLate { (command.state, command.dueAt) = (.delivered, command.end) }
            try transaction.update(command)
            return try transaction.touch(sender.board)
        case .answered(let answer):
            (command.state, command.delivery) = (.answered, .sure)
            command.answer = command.text == nil ? nil : answer.text
        case .refused(let refusal, let rule, let field):
            (command.state, command.delivery) = (.refused, .none)
            command.refusal = CommandRefusal(refusal: refusal, rule: rule, field: field)
        case .expired(let isDelivered):
            command.state = .expired
            if !isDelivered {
                command.delivery = .none
            } else if command.delivery == .none {
                command.delivery = .uncertain
            }
        }
        (command.isOwnEnd, command.dueAt) = (false, nil)
        try transaction.update(command)
        let code = command.refusal.map { ", \($0.refusal.code)" } ?? ""
        try authority.note(
            "command.\(command.state.rawValue)", command, actor: "board", code, transaction, now)
    }
}

extension Authority {
    /// Ends what waits for a session that has ended.
    func refuseCommands(
        of session: ObjectID, on board: InstallationID, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        for command in try transaction.openCommands(of: board) where command.session == session {
            try refuse(
                command, Refusal(.invalidSession, "the board's session has ended"), actor: actor,
                transaction, at: now)
        }
    }

    /// Ends what a disabled user sent and no app has.
    func refuseCommands(
        by user: UserID, actor: String, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) {
        for command in try transaction.openCommands(by: user) where command.state == .waiting {
            try refuse(
                command, Refusal(.forbidden, "the user who sent it is disabled"), actor: actor,
                transaction, at: now)
        }
    }

    /// `refused` says that no app has it. What was sent expires.
    private func refuse(
        _ found: CommandRecord, _ refusal: Refusal, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        var command = found
        if command.sentAt == nil, command.delivery == .none {
            (command.state, command.dueAt) = (.refused, nil)
            command.refusal = CommandRefusal(refusal: refusal)
        } else {
            command.endUnheard()
        }
        try transaction.update(command)
        try note(
            "command.\(command.state.rawValue)", command, actor: actor, ", \(refusal.code)",
            transaction, now)
    }
}
