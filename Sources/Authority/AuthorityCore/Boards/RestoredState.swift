import Sessions
import Wire

/// Boards that are ahead of a restored state: told "not issued here" and kept.
/// Source: the wire contract, Refresh and rotation, and A restored authority.
extension BoardRequest {
    /// Whether we made this token, at a time of which the store knows nothing. Any other that the
    /// store does not know is over.
    func isAhead(_ token: SessionToken) throws(AuthorityError) -> Bool {
        guard let made = try authority.sessionTokens.creation(of: token) else { return false }
        return try isUnknown(made)
    }

    /// Whether a time is after the latest that is on record, or in a gap.
    private func isUnknown(_ time: Timestamp) throws(AuthorityError) -> Bool {
        if let latest = try transaction.latestTime(), time > latest { return true }
        return try transaction.hasGap(from: time, to: time)
    }

    /// 209 for a session that is over; but one whose claim ran out here may have been accepted
    /// in a gap, and then its board holds what it was promised.
    func replyLapsed(_ record: SessionRecord) throws(AuthorityError) -> BoardAnswer {
        guard let claim = try transaction.claim(ofSession: record.id),
            claim.session == record.id, claim.state == .expired || claim.state == .sent,
            try transaction.hasGap(from: claim.createdAt, to: claim.expiresAt)
        else { return try replyOver() }
        return try notIssuedHere(.session, "a session may have been accepted in a gap")
    }

    /// A refresh token says when its family was made, and not when itself was. Where an operator
    /// has settled what was ahead, one of a board that was given up then is over, and any where
    /// nothing can have been lost since; after another gap it may be of a state that was lost in
    /// that, and one whose family was made there is, or in a moment that is no gap yet.
    func aheadRefresh(
        of family: RefreshFamilyID, _ how: String
    ) throws(AuthorityError) -> BoardAnswer {
        guard let settled = try transaction.settledAt(), try !transaction.isRestored() else {
            return try notIssuedHere(.refresh, how)
        }
        // No family was made in the future: such an id is forged or damaged.
        if family.madeAt <= now, try isUnknown(family.madeAt) {
            return try notIssuedHere(.refresh, how)
        }
        if try isGivenUp(at: settled) { return try replyOver() }
        guard try !transaction.hasGap(from: settled, to: now) else {
            return try notIssuedHere(.refresh, how)
        }
        return try replyOver()
    }

    /// Whether the board was found ahead before `settled`, and neither set up anew nor found
    /// ahead since: tokens of one that was given up are not ahead, but those of a later gap,
    /// so it has a session of after that, whose claim was lost in the gap.
    private func isGivenUp(at settled: Timestamp) throws(AuthorityError) -> Bool {
        // Settling forgot who was noted until then.
        guard try transaction.mayNoteAhead(sender.board, .session) else { return false }
        var query = AuditQuery(limit: 1, board: sender.board)
        (query.event, query.until) = ("alarm.", settled)
        guard let alarm = try transaction.entries(query).first else { return false }
        (query.event, query.since, query.until) = ("claim.accepted", alarm.at, nil)
        return try transaction.entries(query).isEmpty
    }

    /// A restored backup looks like this, so it is an alarm and never theft, and nothing ends.
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
