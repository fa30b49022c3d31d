import Sessions
import Wire

/// A new request of a board, handled within one transaction. Its reply is not stored yet.
struct BoardRequest {
    let authority: Authority
    let transaction: any AuthorityTransaction
    let sender: Sender
    let message: BoardMessage
    /// The session that the message's token names.
    let named: BoardSession?
    let now: Timestamp
    let findings = Findings()

    /// Facts found while the request is answered, besides the answer.
    final class Findings {
        /// The board is ahead of the store, which was not known before.
        var isNewAhead = false
        /// The reason of a refusal that is to be counted.
        var refused: RefusalReason?
        /// The highest number that the broker acknowledged to the board, if the board reported it.
        var lastForwarded: Int64?
    }

    func answer() throws(AuthorityError) -> BoardAnswer {
        if message.body.needsClock, clockIsOff {
            return try reply(.error(RequestClock.refusal))
        }
        switch message.body {
        case .provisionAccepted(let re, let session):
            try provisionAccepted(re, session)
            return .silent
        case .provisionRejected(let re, let error):
            try provisionRejected(re, error)
            return .silent
        case .sessionEnded(_, let session):
            try sessionEnded(session)
            return .silent
        case .sessionConfirmed(let re, let session):
            try sessionConfirmed(re, session)
            return .silent
        case .commandResult(let result):
            return try commandResult(result)
        case .authenticate(let token, let minutes, let report):
            return try underSession(token) { session throws(AuthorityError) in
                let isShared = try report.map { report throws(AuthorityError) in
                    try keep(report, under: session)
                } ?? false
                return try authenticate(session, minutes: minutes, isShared: isShared)
            }
        case .refresh(let token):
            return try refresh(token)
        case .revoke(let token):
            return try underSession(token) { session throws(AuthorityError) in
                try signOut(session.record)
            }
        case .list(let token):
            return try underSession(token) { session throws(AuthorityError) in
                try list(session.record)
            }
        case .user(let token):
            return try underSession(token) { session throws(AuthorityError) in
                var result = Reply.Result()
                result.user = session.profile
                return try reply(.result(result))
            }
        case .saveConfiguration(let token, let configuration):
            return try underSession(token) { _ throws(AuthorityError) in
                try save(configuration)
            }
        case .getConfiguration(let token):
            return try underSession(token) { _ throws(AuthorityError) in
                try keptConfiguration()
            }
        case .unknown:
            return try reply(.error(Refusal(.forbidden, "unknown message type")))
        }
    }

    func reply(
        _ outcome: Reply.Outcome, signKeys: [SigningKey]? = nil,
        keptFor lifetime: Authority.ReplyLifetime = .fixed
    ) throws(AuthorityError) -> BoardAnswer {
        if case .error(let refusal) = outcome, refusal.is(.forbidden) {
            findings.refused = .forbidden
        }
        // The transaction may have waited since `now`, and the board takes its time from this.
        let reply = Reply(
            re: message.id, now: authority.clock(), outcome: outcome, signKeys: signKeys)
        return .reply(try authority.seal(reply, to: sender, keptFor: lifetime, transaction))
    }

    /// Replies 209 to a token that names no session.
    func replyUnknown(_ reason: RefusalReason) throws(AuthorityError) -> BoardAnswer {
        findings.refused = reason
        return try replyOver()
    }

    /// Replies 209 to a token that is not this board's. A token of another board was stolen from
    /// that board. That is audited once an hour for each board that lost a token.
    func replyForeign(_ record: SessionRecord) throws(AuthorityError) -> BoardAnswer {
        guard let owner = record.board, owner != sender.board else {
            return try replyUnknown(.unknownToken)
        }
        var query = AuditQuery(limit: 1, board: owner)
        (query.event, query.since) = ("token.foreign", now - .seconds(3600))
        if try transaction.entries(query).isEmpty {
            try authority.audit(
                "token.foreign", "board", owner, record.id,
                "board \(sender.board) sent a token of this board: the token was stolen",
                transaction, at: now)
        }
        return try replyUnknown(.foreignToken)
    }

    func replyOver() throws(AuthorityError) -> BoardAnswer {
        try reply(.error(Refusal(.invalidSession, "this session is over")))
    }

    /// Stores the report if it is new. Returns whether another machine uses the board's identity.
    private func keep(
        _ told: BoardReport, under session: BoardSession
    ) throws(AuthorityError) -> Bool {
        let known = session.report?.report
        findings.lastForwarded = told.lastForwarded
        let report = told.lasting.following(known)
        if report.isShared { try noteShared(under: session.record) }
        // Most heartbeats repeat the last report. The touch shows a new one on open pages at once.
        if report.isNews(after: known) {
            try transaction.keep(report, of: sender.board, at: now)
            try transaction.touch(sender.board)
        }
        return report.isShared
    }

    /// Audited at most once an hour, so that no board fills the log.
    private func noteShared(under record: SessionRecord) throws(AuthorityError) {
        var query = AuditQuery(limit: 1, board: sender.board)
        (query.event, query.since) = ("identity.shared", now - .seconds(3600))
        guard try transaction.entries(query).isEmpty else { return }
        try authority.audit(
            "identity.shared", "authority", sender.board, record.id,
            "another machine uses this board's identity", transaction, at: now)
    }

    private var clockIsOff: Bool {
        RequestClock.isOff(message.issuedAt, isUnset: message.clockUnset, at: now)
    }

    /// Finds the live session that `token` names, checks that board and key are the sender's, and
    /// notes the use. A token made at a time that the store knows nothing about gets "not issued
    /// here". Any other failure is 209. A failure changes no session.
    private func underSession(
        _ token: SessionToken,
        _ act: (BoardSession) throws(AuthorityError) -> BoardAnswer
    ) throws(AuthorityError) -> BoardAnswer {
        guard var session = named else {
            guard try isAhead(token) else { return try replyUnknown(.unknownToken) }
            return try notIssuedHere(.session, "a session token is newer than the store")
        }
        let found = session.record
        guard owns(found) else { return try replyForeign(found) }
        guard let record = try use(found) else { return try replyLapsed(found) }
        session.record = record
        // Acceptance may change the board's owner, who must not see the report of the earlier one.
        if found.state == .pending { session.report = try transaction.report(of: sender.board) }
        return try act(session)
    }

    /// Whether the store still has the key that opened the message. Another key gets no answer. A
    /// live session with the key proves it without a query, because a board's session ends in the
    /// transaction that changes its key.
    func isOfKnownKey() throws(AuthorityError) -> Bool {
        if let record = named?.record, owns(record),
            record.isLive(at: now, under: authority.rules.lifetimes)
        {
            return true
        }
        return try authority.isKnown(sender, transaction)
    }

    /// Whether a session belongs to this sender. Another board's token has no effect here.
    func owns(_ record: SessionRecord) -> Bool {
        record.session.installationID == sender.board && record.deviceKey == sender.key
    }

    /// Accepts a pending session and notes the use. Nil if the session has ended.
    func use(_ found: SessionRecord) throws(AuthorityError) -> SessionRecord? {
        guard found.isLive(at: now, under: authority.rules.lifetimes) else { return nil }
        var record = found
        if found.state == .pending {
            guard let accepted = try authority.accept(found, by: sender, transaction, at: now)
            else { return nil }
            record = accepted
        }
        record.lastSeen = now
        try transaction.noteUse(of: record.id, at: now)
        return record
    }

    // The requests of a live session: heartbeat, list and sign-out.

    private func authenticate(
        _ session: BoardSession, minutes: Int64?, isShared: Bool
    ) throws(AuthorityError) -> BoardAnswer {
        var record = session.record
        if let minutes {
            do throws(Refusal) {
                record.session.expiresAt = try authority.extended(
                    record, minutes: minutes, at: now)
            } catch {
                return try reply(.error(error))
            }
            try transaction.save(record, at: now)
            try authority.auditExtension(of: record, actor: "board", transaction, at: now)
        }
        if record.scopeNotice != nil {
            try authority.tellUpdate(of: record, transaction, at: now)
        }
        var result = Reply.Result()
        result.session = record.session
        result.user = session.profile
        result.scope = try record.scope?.document()
        result.spread = authority.rules.spread()
        result.isShared = isShared
        return try reply(.result(result), signKeys: authority.keys.published)
    }

    private func list(_ record: SessionRecord) throws(AuthorityError) -> BoardAnswer {
        var result = Reply.Result()
        let lifetimes = authority.rules.lifetimes
        result.sessions = try transaction.sessions(
            of: record.session.user, .activeRestricted, ListSlice(skip: 0, limit: 200)
        ).filter { $0.isLive(at: now, under: lifetimes) }.map(\.session)
        return try reply(.result(result))
    }

    /// Ends the session for the board. The board keeps its login for a while, in case the reply is
    /// lost.
    private func signOut(_ record: SessionRecord) throws(AuthorityError) -> BoardAnswer {
        try authority.end(
            record, reason: UnavailableReason.signedOut.rawValue, actor: "board",
            endNotice: EndNotice(payload: nil, until: now + AuthorityRules.replyLifetime),
            transaction, at: now)
        return try reply(.result(Reply.Result()))
    }
}

extension ScopeText {
    /// The scope in its wire form. It was checked before it was stored, so a text that does not
    /// parse is damaged.
    func document() throws(AuthorityError) -> ScopeDocument {
        do {
            return ScopeDocument(unchecked: try JSONValue(parsing: Array(text.utf8)))
        } catch {
            throw .failed(layer: "store", text: "a stored scope is damaged")
        }
    }
}
