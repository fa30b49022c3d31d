import Gate
import Sessions
import Wire

/// What became of an app's answer to a command.
enum AnswerOutcome {
    case taken
    /// The same answer came before.
    case known
    case refused(Rejection)
}

extension Agent {
    /// Judges an answer. One that is taken must be committed before anything else is done.
    mutating func take(
        answer payload: [UInt8], of app: AppName, to id: MessageID, at instant: Instant
    ) -> AnswerOutcome {
        guard let command = records.commands.find(id), command.app == app,
            let digest = try? cryptography.digest(payload).prefix(16)
        else { return .refused(Self.rejection(.notFound, "no command of this app has this id")) }
        if command.answerDigest == Array(digest) { return .known }
        let isLate = !clock.isUnset(at: instant) && command.deadline <= clock.now(at: instant)
        guard command.isOpen, !isLate else {
            return .refused(Self.rejection(
                .notFound, "the command is answered already, or its deadline has passed"))
        }
        guard payload.count <= BoardCommand.sizeLimit else { return .refused(Self.tooLarge) }
        guard let answer = Self.answer(payload) else {
            return .refused(Self.rejection(
                .invalidJSON, "an answer is one JSON text of at most 31 levels"))
        }
        guard answer.bytes.count <= BoardCommand.sizeLimit else { return .refused(Self.tooLarge) }
        commands.stopWaiting(id)
        records.commands.keep(answer, Array(digest), of: id)
        return .taken
    }

    /// Reads an answer as a member of an object, as it will be in its result.
    private static func answer(_ payload: [UInt8]) -> JSONValue? {
        // Both texts must be whole: `1,"b":2` is an answer only inside of an object.
        guard (try? JSONValue(parsing: payload)) != nil else { return nil }
        let nested = Array("{\"answer\":".utf8) + payload + [UInt8(ascii: "}")]
        return (try? JSONObject(parsing: nested))?.members["answer"]
    }

    private static var tooLarge: Rejection {
        rejection(
            .tooLarge, "an answer has at most \(BoardCommand.sizeLimit / 1024) KiB as JSON text")
    }

    private static func rejection(_ code: ErrorCode, _ reason: String) -> Rejection {
        Rejection(code: code, rule: .builtin(.command), reason: reason)
    }

    /// Makes answers durable, then sends them.
    mutating func answered(_ ids: [MessageID], at instant: Instant) {
        guard !ids.isEmpty else { return }
        commitCommands()
        for id in ids { tellFinal(id, at: instant) }
    }
}

// Results on their way to the authority.
extension Agent {
    /// Begins to send a final result. It is repeated until the authority replies.
    mutating func tellFinal(_ id: MessageID, at instant: Instant) {
        guard let command = records.commands.find(id), let result = command.result else { return }
        commands.count(result)
        emit(.log(.info, "command \(id) for \(command.app.map { "\($0)" } ?? "no app"): "
            + result.word))
        request(command, at: instant)
    }

    private mutating func request(_ command: TakenCommand, at instant: Instant) {
        guard let message = freshID() else { return }
        let backoff = Backoff(first: .seconds(10), limit: .seconds(300))
        commands.request(command.id, as: message, backoff: backoff, at: instant.monotonic)
    }

    /// Sends the results that have no reply yet, over a new connection.
    mutating func resumeResults(at instant: Instant) {
        commands.resume(at: instant.monotonic)
        for command in records.commands.all
        where command.isUnconfirmed && !commands.hasRequest(of: command.id) {
            request(command, at: instant)
        }
    }

    mutating func sendDueResults(at instant: Instant) {
        guard uplink.isReady, let next = commands.nextResult, next <= instant.monotonic else {
            return
        }
        let (share, spread) = (randomShare(), spread * randomShare())
        let due = commands.takeDueResults(at: instant.monotonic, share: share, spread: spread)
        for (id, message) in due {
            guard let command = records.commands.find(id), command.isUnconfirmed,
                let result = command.result
            else {
                commands.finish(id)
                continue
            }
            send(
                .commandResult(CommandResult(re: id, session: command.session, state: result)),
                id: message, at: instant)
        }
    }

    /// Sends a result that is not repeated.
    mutating func tellOnce(
        _ result: CommandResult.State, of id: MessageID, _ session: ObjectID,
        at instant: Instant
    ) {
        guard uplink.isReady, let message = freshID() else { return }
        let told = CommandResult(re: id, session: session, state: result)
        if told.isFinal { commands.sentOnce(message) }
        send(.commandResult(told), id: message, at: instant)
    }

    /// True if the reply belongs to a command's result. It sets no clock and is no contact.
    mutating func takeResultReply(_ reply: Reply, at instant: Instant) -> Bool {
        if commands.takeOnce(reply.re) { return true }
        guard let id = commands.command(of: reply.re) else { return false }
        if case .error(let refusal) = reply.outcome, refusal.is(.rateLimit) {
            let told = refusal.retryAfter ?? .seconds(30)
            let wait = told + max(told, spread) * randomShare()
            commands.putOff(id, until: instant.monotonic + wait)
        } else {
            commands.finish(id)
            records.commands.confirm(id)
            commitCommands()
        }
        return true
    }
}

extension CommandResult.State {
    /// For the log.
    fileprivate var word: String {
        switch self {
        case .delivered: "delivered"
        case .answered: "answered"
        case .refused(let refusal, _, _): "refused (\(refusal.code))"
        case .expired(let delivered): delivered ? "expired without an answer" : "expired"
        }
    }
}
