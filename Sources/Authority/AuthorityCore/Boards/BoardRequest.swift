import Sessions
import Wire

/// One request of a board within one transaction, its reply not known before.
struct BoardRequest {
    let authority: Authority
    let transaction: any AuthorityTransaction
    let sender: Sender
    let message: BoardMessage
    /// The session that the message's token names.
    let named: BoardSession?
    let now: Timestamp
    let findings = Findings()

    /// What was found out while a request was answered, besides its answer.
    final class Findings {
        /// Its board was not known to be ahead of the store before.
        var isNewAhead = false
        /// Why it was refused, where that is to be counted.
        var refused: RefusalReason?
        /// The highest number that the broker acknowledged to the board, if it told that.
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
        let reply = Reply(re: message.id, now: now, outcome: outcome, signKeys: signKeys)
        return .reply(try authority.seal(reply, to: sender, keptFor: lifetime, transaction))
    }

    /// The same for a token that names no session.
    func replyUnknown(_ reason: RefusalReason) throws(AuthorityError) -> BoardAnswer {
        findings.refused = reason
        return try replyOver()
    }

    /// The same for a token of another session than this board's. Only from the other board can
    /// it have come here: that is written down once an hour for each board it was taken from.
    func replyForeign(_ record: SessionRecord) throws(AuthorityError) -> BoardAnswer {
        guard let owner = record.board, owner != sender.board else {
            return try replyUnknown(.unknownToken)
        }
        var query = AuditQuery(limit: 1, board: owner)
        (query.event, query.since) = ("token.foreign", now - .seconds(3600))
        if try transaction.entries(query).isEmpty {
            try authority.audit(
                "token.foreign", "board", owner, record.id,
                "a token of this board came by the outbox of board \(sender.board): it was stolen",
                transaction, at: now)
        }
        return try replyUnknown(.foreignToken)
    }

    func replyOver() throws(AuthorityError) -> BoardAnswer {
        try reply(.error(Refusal(.invalidSession, "this session is over")))
    }

    /// Returns whether another machine uses the board's identity.
    private func keep(
        _ told: BoardReport, under session: BoardSession
    ) throws(AuthorityError) -> Bool {
        let known = session.report?.report
        findings.lastForwarded = told.lastForwarded
        let report = told.lasting.following(known)
        if report.isShared { try noteShared(under: session.record) }
        // Most heartbeats tell what the last one told. An open page shows what is new at once.
        if report.isNews(after: known) {
            try transaction.keep(report, of: sender.board, at: now)
            try transaction.touch(sender.board)
        }
        return report.isShared
    }

    /// Written down once an hour, so that no board fills the log.
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

    /// Finds the live session that `token` names, of this very board and key, and notes that
    /// it is in use. What was issued after the backup that this store came from is not issued
    /// here; anything else is 209. Nothing changes.
    private func underSession(
        _ token: SessionToken,
        _ act: (BoardSession) throws(AuthorityError) -> BoardAnswer
    ) throws(AuthorityError) -> BoardAnswer {
        guard var session = named else {
            guard try isAhead(token) else { return try replyUnknown(.unknownToken) }
            return try notIssuedHere(.session, "a session token is ahead of the store")
        }
        let found = session.record
        guard owns(found) else { return try replyForeign(found) }
        guard let record = try use(found) else { return try replyLapsed(found) }
        session.record = record
        // With its acceptance the board may have another owner, who must not see what it told.
        if found.state == .pending { session.report = try transaction.report(of: sender.board) }
        return try act(session)
    }

    /// Whether the store still has the key that opened the message; nothing is answered to
    /// another. A live session of the key proves it without a look: where a board gets another
    /// key, its session ends in the same transaction.
    func isOfKnownKey() throws(AuthorityError) -> Bool {
        if let record = named?.record, owns(record),
            record.isLive(at: now, under: authority.rules.lifetimes)
        {
            return true
        }
        return try authority.isKnown(sender, transaction)
    }

    /// Whether a session is this sender's: another board's token counts for nothing here.
    func owns(_ record: SessionRecord) -> Bool {
        record.session.installationID == sender.board && record.deviceKey == sender.key
    }

    /// The session in use: accepted if it was not, its last use noted; nil if it is over.
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

    // The heartbeat and what else a live session may ask.

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

    /// The board takes its leave: it keeps its login for a while, should the reply be lost.
    private func signOut(_ record: SessionRecord) throws(AuthorityError) -> BoardAnswer {
        try authority.end(
            record, reason: UnavailableReason.signedOut.rawValue, actor: "board",
            farewell: Farewell(payload: nil, until: now + AuthorityRules.replyLifetime),
            transaction, at: now)
        return try reply(.result(Reply.Result()))
    }
}

extension ScopeText {
    /// The scope as the wire has it. It was judged before it was stored, so a text that does
    /// not parse is damage.
    func document() throws(AuthorityError) -> ScopeDocument {
        do {
            return ScopeDocument(unchecked: try JSONValue(parsing: Array(text.utf8)))
        } catch {
            throw .failed(layer: "store", text: "a stored scope is damaged")
        }
    }
}
