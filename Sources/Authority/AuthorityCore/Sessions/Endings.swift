import Sessions
import Wire

/// How sessions end. Source: the wire contract, Revocation.
extension Authority {
    /// Ends a session in the store. Its board receives a message only if `endNotice` has a payload.
    func end(
        _ found: SessionRecord, reason: String, actor: String, endNotice: EndNotice?,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        var record = found
        record.state = .ended
        record.endReason = reason
        record.endNotice = endNotice
        try transaction.save(record, at: now)
        try invalidateFamily(of: record, transaction, at: now)
        try audit("session.ended", actor, record.board, record.id, reason, transaction, at: now)
        try note(TimelineEvent(end: reason), of: record, "by \(actor)", transaction, at: now)
        try transaction.deletePushSubscription(of: record.id)
        if let board = record.board {
            try refuseCommands(of: record.id, on: board, actor: actor, transaction, at: now)
            if var known = try transaction.board(board) {
                known.lastSeen = max(record.lastSeen, known.lastSeen ?? record.lastSeen)
                try transaction.save(known)
            }
            try addBrokerJobs(board, transaction, at: now)
        } else if let login = try transaction.personLogin(record.id) {
            try transaction.deletePersonLogin(record.id)
            try transaction.add(.reader(login.reader, mayDoLess: true))
        }
    }

    /// Ends a session and sends its board a message, which waits until the board is there.
    func endAndTell(
        _ record: SessionRecord, reason: String, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard let board = record.board, let key = record.deviceKey else {
            return try end(
                record, reason: reason, actor: actor, endNotice: nil, transaction, at: now)
        }
        let sequence = try transaction.nextSequence(
            sealKey: keys.seal.id, board: board, at: now)
        let message = AuthorityMessage(
            id: try newMessageID(), issuedAt: now,
            body: .revoked(sequence: sequence, session: record.id, reason: reason))
        let payload = try cryptography.seal(
            message.plaintext, to: RecipientKey(board: board, key: key), from: keys.seal,
            topic: inbox(of: board))
        let endNotice = endNotice(payload, for: record, reason, at: now)
        if try transaction.openClaim(on: board) != nil {
            // The inbox retains a provisioning, so send this message at once and not retained.
            try transaction.add(.say(board, payload: payload, until: endNotice.until))
        }
        try end(
            record, reason: reason, actor: actor, endNotice: endNotice, transaction, at: now)
    }

    private func endNotice(
        _ payload: [UInt8], for record: SessionRecord, _ reason: String, at now: Timestamp
    ) -> EndNotice {
        if reason == UnavailableReason.expired.rawValue { return .lasting(payload) }
        let longest = now + AuthorityRules.longestEndNotice
        let own = record.session.expiresAt.flatMap { $0 > now ? $0 : nil }
        return EndNotice(payload: payload, until: min(own ?? longest, longest))
    }

    /// Ends a session that has passed a limit. A board knows its session's `expiresAt`. If another
    /// limit ended the session, the board receives a message. The board can be renewed afterwards.
    func endExpired(
        _ record: SessionRecord, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let reason = UnavailableReason.expired.rawValue
        guard record.hasReachedOwnEnd(at: now) else {
            return try endAndTell(
                record, reason: reason, actor: "authority", transaction, at: now)
        }
        try end(
            record, reason: reason, actor: "authority",
            endNotice: record.board == nil ? nil : .lasting(nil), transaction, at: now)
    }

    /// Takes an expired board the login with which it could be renewed, and cancels its renewal.
    /// The board receives a revocation, as one whose session is alive.
    func withdraw(
        _ expired: SessionRecord, reason: UnavailableReason = .revoked, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        if let board = expired.board, let open = try transaction.openClaim(on: board),
            open.renews != nil
        {
            try close(open, as: .cancelled, detail: "", actor: actor, transaction, at: now)
        }
        try endAndTell(
            expired, reason: reason.rawValue, actor: actor, transaction, at: now)
    }

    /// Whether a board has not answered a revocation yet. It receives the revocation with its
    /// present login.
    ///
    /// A board that signed out by itself has nothing to answer. An expired one may answer later:
    /// its login comes back if the claim fails. After reuse, the first answer
    /// leaves the other machine `replyLifetime` to learn of the end.
    func awaitsAnswer(
        from board: InstallationID, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> Bool {
        guard let departing = try transaction.departing(on: board),
            let endNotice = departing.endNotice, endNotice.payload != nil, !departing.isRenewable
        else { return false }
        return departing.endReason != UnavailableReason.reuse.rawValue
            || endNotice.until > now + AuthorityRules.replyLifetime
    }

    func invalidateFamily(
        of record: SessionRecord, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard let id = record.family, var family = try transaction.family(id) else { return }
        if let last = family.lastRequest, let board = record.board {
            // Nobody will use the successor.
            try transaction.expireReply(
                to: last, of: board, at: now + AuthorityRules.replyLifetime)
        }
        family.invalidated = true
        try transaction.save(family)
    }

    /// Adds an audit entry. Open pages learn of changes from these entries: see `Authority.news`.
    func audit(
        _ event: String, _ actor: String, _ board: InstallationID?, _ session: ObjectID?,
        _ detail: String, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        try transaction.append(AuditEntry(
            at: now, event: event, actor: actor, board: board, session: session,
            detail: String(detail.prefix(500))))
    }

    /// Ends a session that waits for its board, and its claim.
    func cancelClaim(
        of record: SessionRecord, actor: String, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) {
        guard let board = record.board, let claim = try transaction.openClaim(on: board),
            claim.session == record.id
        else { return }
        try close(claim, as: .cancelled, detail: "", actor: actor, transaction, at: now)
    }

    /// Ends every session of a user except `kept`, and sends messages to the boards. With
    /// `keepsBoards`, sessions on boards stay, also those that wait for a board, and so do the
    /// user's consumers. Returns the number of sessions found.
    @discardableResult
    func endAll(
        of user: UserID, but kept: ObjectID?, keepsBoards: Bool = false, reason: String,
        actor: String, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> Int {
        if !keepsBoards {
            try endConsumers(of: user, actor: actor, transaction, at: now)
            try endPreparedClaims(of: user, actor: actor, transaction, at: now)
        }
        try transaction.deleteLoginRequests(allowedBy: user)
        let found = keepsBoards
            ? try transaction.sessionsOffBoards(of: user) : try transaction.ownSessions(of: user)
        let records = found.filter { $0.id != kept }
        for record in records {
            switch record.state {
            case .active:
                try endAndTell(record, reason: reason, actor: actor, transaction, at: now)
            case .pending:
                try cancelClaim(of: record, actor: actor, transaction, at: now)
            case .ended: try withdraw(record, actor: actor, transaction, at: now)
            }
        }
        return records.count
    }
}
