package import Sessions
package import Wire

/// What came of one message of a board.
package enum BoardAnswer: Equatable, Sendable {
    /// Not acted on and not answered; it is to be counted.
    case dropped(DropReason)
    /// Acted on; nothing is to be said.
    case silent
    /// To be published on the board's inbox, not retained.
    case reply([UInt8])
}

/// What came of one message, and whether the courier is to be sent to its board's line.
package struct HeardRequest: Sendable {
    package let answer: BoardAnswer
    package var leavesChores = false
    /// The device key that opened it; nil where the store does not have that key.
    package var key: [UInt8]?
    /// What was asked, where it could be opened and read.
    package var type: BoardMessage.Kind?
    /// The board is ahead of the store, which was not known before.
    package var isNewAhead = false
    /// Why it was refused, where that is to be counted.
    package var refused: RefusalReason?
    /// The highest number that the broker acknowledged to the board, if it told that.
    package var lastForwarded: Int64?
}

package enum DropReason: String, Sendable, CaseIterable {
    /// Nobody provisioned such a board.
    case unknownBoard = "unknown-board"
    /// Not a sealed message of this version.
    case notSealed = "not-sealed"
    /// Sealed by another key, for another key or topic, or damaged.
    case unopened
    /// Opened, and not even an id could be read.
    case unreadable
}

extension Authority {
    /// Takes one payload from a board's outbox. Publish the reply, then settle the board's
    /// line: what a reply confirms must reach the board before its login changes.
    ///
    /// The order of the checks is the contract's: what cannot be opened is dropped; a known
    /// request is answered again, before any other check; then the clock, then whose the
    /// token is, and only then anything is done.
    package func handle(
        _ payload: [UInt8], from board: InstallationID
    ) async throws(AuthorityError) -> BoardAnswer {
        try await hear(payload, from: board).answer
    }

    /// The same, and whether the board's line has chores since. Others' lines are told already.
    ///
    /// - Parameter known: the key that opened the board's last message. The store may have another
    ///   by now: nothing is answered unless the transaction finds that it has this one.
    package func hear(
        _ payload: [UInt8], from board: InstallationID, trying known: [UInt8]? = nil
    ) async throws(AuthorityError) -> HeardRequest {
        switch try await open(payload, from: board, trying: known) {
        case .opened(let plaintext, let sender):
            var heard = try await answer(plaintext, from: sender)
            if heard.answer != .dropped(.unopened) { heard.key = sender.key }
            return heard
        case .dropped(let reason):
            return HeardRequest(
                answer: .dropped(reason),
                isNewAhead: reason == .unknownBoard ? try await noteUnknown(board) : false)
        }
    }

    /// What came of opening one payload.
    enum Opening {
        case opened([UInt8], by: Sender)
        case dropped(DropReason)
    }

    /// Opens by the known key, or else as `openByStore`.
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

    /// Reads the board's keys and opens by them. Nothing is written.
    func openByStore(
        _ payload: [UInt8], from board: InstallationID
    ) async throws(AuthorityError) -> Opening {
        // Who is nobody's board costs no reading of what it sends.
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

    /// Nil for what is not sealed to this authority.
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
                // Whoever answered it first may have gone before it sent the courier.
                return (HeardRequest(
                    answer: .reply(known), leavesChores: true, type: message.body.kind), [])
            }
            let answer = try request.answer()
            let (lines, found) = (transaction.choreLines, request.findings)
            return (HeardRequest(
                answer: answer, leavesChores: lines.contains(own), type: message.body.kind,
                isNewAhead: found.isNewAhead, refused: found.refused,
                lastForwarded: found.lastForwarded), lines)
        }
        // The board's own line comes after the reply.
        for line in lines where line != own { courier.nudge(line) }
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
                    "a refresh token of no known form", transaction, at: now)
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
        /// Kept until the refresh token that it carries is used.
        case untilSuccessorIsUsed
    }

    /// Seals a reply and keeps it for redeliveries of its request.
    func seal(
        _ reply: Reply, to sender: Sender, keptFor lifetime: ReplyLifetime,
        _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> [UInt8] {
        let payload = try sealed(reply, to: sender)
        try transaction.save(ReplyRecord(
            installation: sender.board, request: reply.re, payload: payload,
            createdAt: reply.now,
            expiresAt: lifetime == .fixed ? reply.now + AuthorityRules.replyLifetime : nil))
        // By chance, so that the bound costs little and no board can choose to escape it.
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

/// Who sealed a message: the board whose topic it came by, and the key that opened it.
struct Sender {
    let board: InstallationID
    let key: [UInt8]
}

/// A request that says who it is, and is not otherwise as the contract has it.
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

    /// A token is a token whatever its text, so one of no known form is judged like any other
    /// that names no session: after the clock, and 209. What else is wrong with a request that
    /// bears a token is told after the clock, too. All else is what the reader found.
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

    /// Whether what could not be read is the refresh token itself.
    var isForgedRefresh: Bool { reason == .mistyped("refreshToken") && bears("refreshToken") }

    private static let tokens = ["sessionToken", "refreshToken"]

    private func bears(_ member: String) -> Bool { members.members[member]?.asString != nil }
}

/// A board's clock as its request shows it. Source: the wire contract, Time and the clock.
enum RequestClock {
    static let refusal = Refusal(
        .validation, "your clock is unset or off; set it by `now` and ask again")

    static func isOff(_ issuedAt: Timestamp, isUnset: Bool, at now: Timestamp) -> Bool {
        let skew = issuedAt - now
        return isUnset || skew > AuthorityRules.clockTolerance
            || skew < .zero - AuthorityRules.clockTolerance
    }
}
