import Sessions
import Wire

extension BoardRequest {
    /// The board has accepted its claim. A repeated message changes nothing. A request with the
    /// session's token accepts, too: see `use`.
    func provisionAccepted(
        _ re: MessageID, _ session: ObjectID
    ) throws(AuthorityError) {
        guard let claim = try transaction.claim(re), claim.installation == sender.board,
            claim.session == session, let record = try transaction.session(session),
            record.state == .pending, owns(record)
        else { return }
        guard var accepted = try authority.accept(record, by: sender, transaction, at: now) else {
            return
        }
        accepted.lastSeen = now
        try transaction.save(accepted, at: now)
    }

    /// The board has rejected its claim. The claim secret stays unused, so the board may be claimed
    /// again.
    func provisionRejected(_ re: MessageID, _ error: Refusal) throws(AuthorityError) {
        guard var claim = try transaction.claim(re), claim.installation == sender.board,
            claim.state == .sent, claim.deviceKey == sender.key
        else { return }
        claim.reason = error
        try authority.close(
            claim, as: .rejected, detail: "\(error.code)", actor: "board", transaction, at: now)
    }

    /// The board has confirmed that a session ended. After reuse, two machines hold the session's
    /// tokens, and this is one of them. The login then stays a while, so that the other can receive
    /// the revocation, too.
    func sessionEnded(_ session: ObjectID) throws(AuthorityError) {
        guard var record = try transaction.session(session), owns(record),
            record.state == .ended, let endNotice = record.endNotice
        else { return }
        let isShared = record.endReason == UnavailableReason.reuse.rawValue
        if record.isRenewable {
            guard endNotice.payload != nil else { return }
            record.endNotice = .lasting(nil)
        } else if isShared {
            let until = now + AuthorityRules.replyLifetime
            guard until < endNotice.until else { return }
            record.endNotice?.until = until
        } else {
            record.endNotice = nil
        }
        try transaction.save(record, at: now)
        try authority.audit(
            "session.farewell", "board", sender.board, session, "the board has confirmed the end",
            transaction, at: now)
        if !isShared { try authority.addBrokerJobs(sender.board, transaction, at: now) }
    }
}

extension Authority {
    /// Activates a pending session on its board, and ends the session before it. Nil if its claim
    /// is no longer open.
    func accept(
        _ pending: SessionRecord, by sender: Sender, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) -> SessionRecord? {
        guard var claim = try transaction.openClaim(on: sender.board),
            claim.session == pending.id, claim.deviceKey == sender.key,
            pending.isLive(at: now, under: rules.lifetimes),
            try !transaction.isReplaced(deviceKey: sender.key)
        else { return nil }
        if let old = try transaction.activeSession(on: sender.board) {
            try end(
                old, reason: "replaced", actor: "board", endNotice: nil, transaction, at: now)
        }
        try endEarlier(
            on: sender.board, of: claim.claimant, but: pending.id, actor: "board", transaction,
            at: now)
        try forgetFarewells(on: sender.board, transaction, at: now)
        try transaction.forgetAhead(sender.board)
        let password = claim.brokerPassword
        claim.state = .accepted
        claim.payload = nil
        claim.brokerPassword = nil
        claim.formerPassword = nil
        try transaction.update(claim)
        var record = pending
        record.state = .active
        try transaction.save(record, at: now)
        try takeOver(claim, transaction, at: now)
        if let password { try transaction.setBrokerPassword(password, of: sender.board) }
        try audit(
            "claim.accepted", "board", sender.board, record.id, "", transaction, at: now)
        try note(.accepted, of: record, "", transaction, at: now)
        try addBrokerJobs(
            sender.board, newPassword: password != nil, transaction, at: now)
        return record
    }

    /// Makes the claimant the owner of the board.
    private func takeOver(
        _ claim: ClaimRecord, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let old = try transaction.board(claim.installation)
        let prepared = try labels(preparedFor: claim, transaction)
        // The new owner must not read reports and events of an earlier owner.
        // A board may be renamed while its renewal waits.
        let name = claim.renews == nil ? claim.boardName : old?.name ?? claim.boardName
        let isNew = old?.owner != claim.claimant || old?.released == true
        if isNew {
            try transaction.forgetReport(of: claim.installation)
            try transaction.keep(nil, of: claim.installation)
            try transaction.deleteCommands(of: claim.installation)
            try transaction.forgetTimeline(of: claim.installation, but: claim.session)
            try endShares(of: claim.installation, actor: "authority", transaction, at: now)
        }
        try transaction.save(BoardRecord(
            installation: claim.installation, name: name, deviceKey: claim.deviceKey,
            owner: claim.claimant, released: false, lastSeen: now,
            ownedSince: isNew ? now : old?.ownedSince ?? now,
            labels: isNew || !prepared.isEmpty ? prepared : old?.labels ?? []))
        for user in Set([claim.claimant, old?.owner].compactMap { $0 }) {
            try addReaderJobs(
                of: user, on: claim.installation, lost: user != claim.claimant, transaction)
        }
    }

    /// Stops waiting for confirmations of a board's earlier sessions, because they are no longer
    /// needed.
    func forgetFarewells(
        on board: InstallationID, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        while var departing = try transaction.departing(on: board) {
            departing.endNotice = nil
            try transaction.save(departing, at: now)
        }
    }

    /// Closes a claim that was not accepted, and ends its session.
    func close(
        _ found: ClaimRecord, as state: Claim.State, detail: String, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        var claim = found
        claim.state = state
        claim.payload = nil
        claim.brokerPassword = nil
        claim.formerPassword = nil
        try transaction.update(claim)
        try reopenPrepared(claim, transaction)
        if let password = found.formerPassword {
            try transaction.setBrokerPassword(password, of: claim.installation)
        }
        if var record = try transaction.session(claim.session), record.state == .pending {
            record.state = .ended
            record.endReason = "claim \(state.rawValue)"
            if claim.tokenOrigin == .foreign {
                // The token may be imported once more, so forget its hash.
                record.tokenHash = try cryptography.random(32)
            }
            try transaction.save(record, at: now)
            try invalidateFamily(of: record, transaction, at: now)
        }
        try note(
            TimelineEvent(claim: state), on: claim.installation, claim.session,
            claim.reason?.text ?? "the claim", transaction, at: now)
        try audit(
            "claim.\(state.rawValue)", actor, claim.installation, claim.session, detail,
            transaction, at: now)
        try addBrokerJobs(
            claim.installation, newPassword: found.formerPassword != nil, transaction, at: now)
    }
}
