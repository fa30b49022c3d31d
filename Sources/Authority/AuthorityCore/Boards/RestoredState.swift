import Sessions
import Wire

/// Handles boards that are ahead of a restored store. They get "not issued here" and keep their
/// sessions.
/// Source: the wire contract, Refresh and rotation, and A restored authority.
extension BoardRequest {
    /// Whether this authority made the token at a time that the store knows nothing about.
    /// Otherwise the session of an unknown token has ended.
    func isAhead(_ token: SessionToken) throws(AuthorityError) -> Bool {
        guard let made = try authority.sessionTokens.creation(of: token) else { return false }
        return try isUnknown(made)
    }

    /// Whether a time is later than the store's latest time, or in a gap.
    private func isUnknown(_ time: Timestamp) throws(AuthorityError) -> Bool {
        if let latest = try transaction.latestTime(), time > latest { return true }
        return try transaction.hasGap(from: time, to: time)
    }

    /// Replies 209 for an ended session. Exception: if its claim expired here, the board may have
    /// accepted it in a gap. The board then keeps the session and gets "not issued here".
    func replyLapsed(_ record: SessionRecord) throws(AuthorityError) -> BoardAnswer {
        guard let claim = try transaction.claim(ofSession: record.id),
            claim.session == record.id, claim.state == .expired || claim.state == .sent,
            try transaction.hasGap(from: claim.createdAt, to: claim.expiresAt)
        else { return try replyOver() }
        return try notIssuedHere(.session, "a session may have been accepted in a gap")
    }

    /// Answers a refresh token that the store does not know. The token shows when its family was
    /// made, not when the token itself was made. The checks, in order:
    ///
    /// - No operator has settled the restored state: "not issued here".
    /// - The family was made in a gap, or after the store's latest time: "not issued here".
    /// - The board was given up when the state was settled: 209.
    /// - There was a gap since then, so the token may be from a lost state: "not issued here".
    /// - Otherwise nothing can have been lost: 209.
    func aheadRefresh(
        of family: RefreshFamilyID, _ how: String
    ) throws(AuthorityError) -> BoardAnswer {
        guard let settled = try transaction.settledAt(), try !transaction.isRestored() else {
            return try notIssuedHere(.refresh, how)
        }
        // An id with a future time is forged or damaged.
        if family.madeAt <= now, try isUnknown(family.madeAt) {
            return try notIssuedHere(.refresh, how)
        }
        if try isGivenUp(at: settled) { return try replyOver() }
        guard try !transaction.hasGap(from: settled, to: now) else {
            return try notIssuedHere(.refresh, how)
        }
        return try replyOver()
    }

    /// Whether the board was found ahead before `settled`, and was neither accepted again nor found
    /// ahead since. A board that was accepted again in a later gap is not given up: its tokens are
    /// of that gap.
    private func isGivenUp(at settled: Timestamp) throws(AuthorityError) -> Bool {
        // Settling deleted all earlier notes, so a present note is newer.
        guard try transaction.mayNoteAhead(sender.board, .session) else { return false }
        var query = AuditQuery(limit: 1, board: sender.board)
        (query.event, query.until) = ("alarm.", settled)
        guard let alarm = try transaction.entries(query).first else { return false }
        (query.event, query.since, query.until) = ("claim.accepted", alarm.at, nil)
        return try transaction.entries(query).isEmpty
    }

    /// Replies "not issued here" and raises an alarm. A restored backup looks like this, so it does
    /// not count as theft and ends no session.
    func notIssuedHere(
        _ sign: AheadBoard.Sign, _ how: String
    ) throws(AuthorityError) -> BoardAnswer {
        if try authority.noteAhead(sender.board, sign, how, transaction, at: now) {
            findings.isNewAhead = true
        }
        let what = sign == .refresh ? "refresh token" : "session"
        return try reply(.error(Refusal(.notFound, "this \(what) was not issued here")))
    }
}
