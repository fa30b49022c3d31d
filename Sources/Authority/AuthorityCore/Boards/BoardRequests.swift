package import Sessions
package import Wire

/// The result of one message of a board.
package enum BoardAnswer: Equatable, Sendable {
    /// Not handled and not answered, only counted.
    case dropped(DropReason)
    /// Handled; there is no reply.
    case silent
    /// The reply, to publish on the board's inbox, not retained.
    case reply([UInt8])
}

/// The result of one message, with details for the service.
package struct HeardRequest: Sendable {
    package let answer: BoardAnswer
    package var leavesJobs = false
    /// The device key that opened the message. Nil if the store does not have that key.
    package var key: [UInt8]?
    /// The message type, if the message could be opened and read.
    package var type: BoardMessage.Kind?
    /// The board is ahead of the store, which was not known before.
    package var isNewAhead = false
    /// The reason of a refusal that is to be counted.
    package var refused: RefusalReason?
    /// The highest number that the broker acknowledged to the board, if the board reported it.
    package var lastForwarded: Int64?
}

package enum DropReason: String, Sendable, CaseIterable {
    /// The store has no key for this board.
    case unknownBoard = "unknown-board"
    /// Not a sealed message of this version.
    case notSealed = "not-sealed"
    /// Sealed by another key, for another key or topic, or damaged.
    case unopened
    /// Opened, but it has no readable id.
    case unreadable
}

extension Authority {
    /// Handles one payload from a board's outbox. Publish the reply first, then settle the board's
    /// job queue: the reply must reach the board before its login changes.
    ///
    /// The contract sets the order of the checks. A payload that cannot be opened is dropped. A
    /// known request gets its stored reply, before any other check. Then come the clock, the owner
    /// of the token, and the action.
    package func handle(
        _ payload: [UInt8], from board: InstallationID
    ) async throws(AuthorityError) -> BoardAnswer {
        try await hear(payload, from: board).answer
    }

    /// The same, and reports whether the board's queue has new jobs. The worker already knows about
    /// jobs in other queues.
    ///
    /// - Parameter known: the key that opened the board's last message. The store may have another
    ///   key by now. There is no answer unless the transaction finds this key in the store.
    package func hear(
        _ payload: [UInt8], from board: InstallationID, trying known: [UInt8]? = nil
    ) async throws(AuthorityError) -> HeardRequest {
        switch try await open(payload, from: board, trying: known) {
        case .opened(let plaintext, let sender):
            var heard = try await answer(plaintext, from: sender)
            if heard.answer != .dropped(.unopened) { heard.key = sender.key }
            return heard
        case .dropped(let reason):
            if reason == .unknownBoard, let heard = try await join(payload, at: board) {
                return heard
            }
            return HeardRequest(
                answer: .dropped(reason),
                isNewAhead: reason == .unknownBoard ? try await noteUnknown(board) : false)
        }
    }

    /// The result of opening one payload.
    enum Opening {
        case opened([UInt8], by: Sender)
        case dropped(DropReason)
    }

    /// Opens with the known key, or else like `openByStore`.
    private func open(
        _ payload: [UInt8], from board: InstallationID, trying known: [UInt8]?
    ) async throws(AuthorityError) -> Opening {
        if let known, let envelope = envelope(payload),
            let plaintext = open(envelope, from: board, with: known)
        {
            return .opened(plaintext, by: Sender(board: board, key: known))
        }
        return try await openByStore(payload, from: board)
    }

    /// Reads the board's keys and opens with them. Writes nothing.
    func openByStore(
        _ payload: [UInt8], from board: InstallationID
    ) async throws(AuthorityError) -> Opening {
        // The payload of an unknown board is not parsed.
        let candidates = try await store.glance { transaction throws(AuthorityError) in
            try transaction.deviceKeys(of: board)
        }
        guard !candidates.isEmpty else { return .dropped(.unknownBoard) }
        guard let envelope = envelope(payload) else { return .dropped(.notSealed) }
        for key in candidates {
            guard let plaintext = open(envelope, from: board, with: key) else { continue }
            return .opened(plaintext, by: Sender(board: board, key: key))
        }
        return .dropped(.unopened)
    }

    /// Nil if the payload is not sealed to this authority.
    private func envelope(_ payload: [UInt8]) -> SealedEnvelope? {
        do throws(WireError) {
            let envelope = try SealedEnvelope(parsing: payload)
            return envelope.mode == .auth && envelope.to == keys.seal.id ? envelope : nil
        } catch {
            return nil
        }
    }

    private func open(
        _ envelope: SealedEnvelope, from board: InstallationID, with key: [UInt8]
    ) -> [UInt8]? {
        cryptography.open(
            envelope, from: key, with: keys.seal,
            topic: ContractTopic.outbox(board).text(under: info.topicRoot))
    }

    /// Whether the store still has the key that opened a message.
    func isKnown(
        _ sender: Sender, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> Bool {
        try transaction.deviceKeys(of: sender.board).contains(sender.key)
    }

    private func answer(
        _ plaintext: [UInt8], from sender: Sender
    ) async throws(AuthorityError) -> HeardRequest {
        let message: BoardMessage
        do throws(UnreadableMessage) {
            message = try BoardMessage(parsing: plaintext)
        } catch {
            guard let id = error.id else { return HeardRequest(answer: .dropped(.unreadable)) }
            let request = UnreadableRequest(plaintext, error.reason)
            return try await refuse(id, request, from: sender)
        }
        let now = clock()
        let tokenHash = try message.body.sessionToken.map { token throws(AuthorityError) in
            try hash(of: token.secret)
        }
        let question = FirstQuestion(
            request: message.id, board: sender.board, tokenHash: tokenHash)
        let own = sender.board.description
        let (heard, lines) = try await store.transact(question) {
            transaction, look throws(AuthorityError) -> (HeardRequest, [String]) in
            let request = BoardRequest(
                authority: self, transaction: transaction, sender: sender, message: message,
                named: look.session, now: now)
            guard try request.isOfKnownKey() else {
                return (HeardRequest(answer: .dropped(.unopened), type: message.body.kind), [])
            }
            if let known = look.reply {
                // The process that answered first may have ended before it started the worker.
                return (HeardRequest(
                    answer: .reply(known), leavesJobs: true, type: message.body.kind), [])
            }
            let answer = try request.answer()
            let (lines, found) = (transaction.jobLines, request.findings)
            return (HeardRequest(
                answer: answer, leavesJobs: lines.contains(own), type: message.body.kind,
                isNewAhead: found.isNewAhead, refused: found.refused,
                lastForwarded: found.lastForwarded), lines)
        }
        // The board's own queue is settled after the reply.
        for line in lines where line != own { worker.wake(line) }
        return heard
    }

    private func refuse(
        _ id: MessageID, _ request: UnreadableRequest, from sender: Sender
    ) async throws(AuthorityError) -> HeardRequest {
        let now = clock()
        return try await store.transact { transaction throws(AuthorityError) in
            guard try isKnown(sender, transaction) else {
                return HeardRequest(answer: .dropped(.unopened))
            }
            if let known = try transaction.reply(to: id, of: sender.board) {
                return HeardRequest(answer: .reply(known))
            }
            let refusal = request.refusal(at: now)
            if request.isForgedRefresh, refusal.is(.invalidSession) {
                try audit(
                    "refresh.forged", "board", sender.board, nil,
                    "a refresh token of an unknown form", transaction, at: now)
            }
            let reply = Reply(re: id, now: now, outcome: .error(refusal))
            let payload = try seal(reply, to: sender, keptFor: .fixed, transaction)
            return HeardRequest(
                answer: .reply(payload),
                refused: refusal.is(.invalidSession) ? .malformedToken
                    : refusal.is(.forbidden) ? .forbidden : nil)
        }
    }

    enum ReplyLifetime {
        case fixed
        /// Kept until the refresh token in it is used.
        case untilSuccessorIsUsed
    }

    /// Seals a reply and stores it for redeliveries of its request.
    func seal(
        _ reply: Reply, to sender: Sender, keptFor lifetime: ReplyLifetime,
        _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> [UInt8] {
        let payload = try sealed(reply, to: sender)
        try transaction.save(ReplyRecord(
            installation: sender.board, request: reply.re, payload: payload,
            createdAt: reply.now,
            expiresAt: lifetime == .fixed ? reply.now + AuthorityRules.replyLifetime : nil))
        // At random, so that trimming costs little and no board can avoid it.
        if try cryptography.random(1).allSatisfy({ $0 < AuthorityRules.trimmingChance }) {
            try transaction.trimReplies(of: sender.board, toNewest: AuthorityRules.repliesOfBoard)
        }
        return payload
    }

    func sealed(_ reply: Reply, to sender: Sender) throws(AuthorityError) -> [UInt8] {
        let message = AuthorityMessage(
            id: try newMessageID(), issuedAt: reply.now, body: .reply(reply))
        return try cryptography.seal(
            message.plaintext, to: RecipientKey(board: sender.board, key: sender.key),
            from: keys.seal, topic: inbox(of: sender.board))
    }
}

/// The sender of a message: the board of its topic, and the key that opened it.
struct Sender {
    let board: InstallationID
    let key: [UInt8]
}

/// A request with a readable id that otherwise does not follow the contract.
struct UnreadableRequest {
    private let members: JSONObject
    private let reason: WireError

    init(_ plaintext: [UInt8], _ reason: WireError) {
        do throws(WireError) {
            members = try JSONObject(parsing: plaintext)
        } catch {
            members = JSONObject([:])
        }
        self.reason = reason
    }

    /// The refusal for the request. A token of unknown form is treated like any token that names no
    /// session: 209, after the clock check. Other errors in a request with a token are also
    /// reported after the clock check. Without a token, it is the parse error.
    func refusal(at now: Timestamp) -> Refusal {
        guard Self.tokens.contains(where: bears) else { return reason.refusal }
        let time = members.members["iat"]?.asInteger.flatMap(Timestamp.init(seconds:))
        let isUnset = members.members["clock"] == .string("unset")
        let needsClock = members.members["type"] != .string("session.revoke")
        if needsClock, RequestClock.isOff(time ?? now, isUnset: isUnset, at: now) {
            return RequestClock.refusal
        }
        guard case .mistyped(let member) = reason, Self.tokens.contains(member),
            bears(member)
        else { return reason.refusal }
        return Refusal(.invalidSession, "this session is over")
    }

    /// Whether the refresh token itself could not be read.
    var isForgedRefresh: Bool { reason == .mistyped("refreshToken") && bears("refreshToken") }

    private static let tokens = ["sessionToken", "refreshToken"]

    private func bears(_ member: String) -> Bool { members.members[member]?.asString != nil }
}

/// Checks a board's clock by its request. Source: the wire contract, Time and the clock.
enum RequestClock {
    static let refusal = Refusal(
        .validation, "your clock is unset or off; set it by `now` and ask again")

    static func isOff(_ issuedAt: Timestamp, isUnset: Bool, at now: Timestamp) -> Bool {
        let skew = issuedAt - now
        return isUnset || skew > AuthorityRules.clockTolerance
            || skew < .zero - AuthorityRules.clockTolerance
    }
}
