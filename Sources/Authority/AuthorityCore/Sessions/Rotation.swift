import Sessions
import Wire

/// Refresh with rotation. Source: the wire contract, Refresh and rotation.
extension BoardRequest {
    func refresh(_ token: RefreshToken) throws(AuthorityError) -> BoardAnswer {
        let format = RefreshTokenFormat(
            cryptography: authority.cryptography, key: authority.keys.refresh)
        guard let presented = try format.read(token) else {
            return try forged()
        }
        guard let family = try transaction.family(presented.family) else {
            return try aheadRefresh(
                of: presented.family,
                "a refresh token names a family that the store does not know")
        }
        guard let record = try transaction.session(family.session) else {
            return try replyUnknown(.unknownToken)
        }
        guard owns(record) else { return try replyForeign(record) }
        guard presented.generation <= family.generation else {
            return try aheadRefresh(
                of: presented.family, "a refresh token is newer than the store")
        }
        let isLive = !family.invalidated
            && record.isLive(at: now, under: authority.rules.lifetimes)
        let isSpent = presented.generation < family.generation
        let isRepeated = isSpent && presented.generation == family.generation - 1
            && family.lastRequest == message.id
        if isSpent, !isRepeated, isLive || record.isRenewable {
            return try theft(presented.generation, of: family, record)
        }
        guard isLive else { return try replyLapsed(record) }
        return isSpent ? try successor(of: family, record) : try rotate(family, of: record)
    }

    /// Only this authority can make a token that verifies. So this token names no session at all.
    private func forged() throws(AuthorityError) -> BoardAnswer {
        try transaction.append(AuditEntry(
            at: now, event: "refresh.forged", actor: "board", board: sender.board, session: nil,
            detail: "a refresh token that this authority did not make"))
        return try replyUnknown(.malformedToken)
    }

    private func rotate(
        _ found: RefreshFamily, of record: SessionRecord
    ) throws(AuthorityError) -> BoardAnswer {
        var family = found
        if let spent = found.lastRequest {
            // The board uses the successor, so the reply that carried it is no longer needed.
            try transaction.expireReply(
                to: spent, of: sender.board, at: now + AuthorityRules.replyLifetime)
        }
        family.generation += 1
        family.lastRequest = message.id
        family.lastUse = now
        try transaction.save(family)
        try authority.note(.refreshed, of: record, "", transaction, at: now)
        return try successor(of: family, record)
    }

    private func successor(
        of family: RefreshFamily, _ found: SessionRecord
    ) throws(AuthorityError) -> BoardAnswer {
        guard let record = try use(found) else { return try replyLapsed(found) }
        let format = RefreshTokenFormat(
            cryptography: authority.cryptography, key: authority.keys.refresh)
        var result = Reply.Result()
        result.refreshToken = try format.token(
            family: family.id, generation: family.generation)
        result.accessToken = try authority.accessToken(for: record, at: now)
        result.session = record.session
        return try reply(.result(result), keptFor: .untilSuccessorIsUsed)
    }

    /// A used token came back with another request: somebody else has it, too. Ends the session.
    /// An expired session cannot be renewed any more.
    private func theft(
        _ generation: UInt64, of found: RefreshFamily, _ record: SessionRecord
    ) throws(AuthorityError) -> BoardAnswer {
        let last = found.lastRequest.map { "\($0)" } ?? "none"
        let at = found.lastUse.map { "\($0.seconds)" } ?? "never"
        try transaction.append(AuditEntry(
            at: now, event: "session.reuse", actor: "board", board: sender.board,
            session: record.id,
            detail: "refresh token \(generation) was presented again by request \(message.id) "
                + "at \(now.seconds); token \(found.generation - 1) was spent by request \(last) "
                + "at \(at)"))
        try authority.withdraw(
            record, reason: .reuse, actor: "authority", transaction, at: now)
        return try replyOver()
    }
}
