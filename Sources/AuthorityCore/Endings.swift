import Sessions
import Wire

/// How sessions end. Source: the wire contract, Revocation.
extension Authority {
    /// Ends a session here. Its board hears nothing of it, unless `farewell` has a payload.
    func end(
        _ found: SessionRecord, reason: String, actor: String, farewell: Farewell?,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        var record = found
        record.state = .ended
        record.endReason = reason
        record.farewell = farewell
        try transaction.save(record, at: now)
        try invalidateFamily(of: record, transaction)
        try audit(
            "session.ended", actor, record.session.installationID, record.id, reason,
            transaction, at: now)
        if let board = record.session.installationID {
            if var known = try transaction.board(board) {
                known.lastSeen = max(record.lastSeen, known.lastSeen ?? record.lastSeen)
                try transaction.save(known)
            }
            try settleBroker(board, transaction, at: now)
        } else if try transaction.personLogin(record.id) != nil {
            try transaction.deletePersonLogin(record.id)
            try transaction.add(.person(record.id))
        }
    }

    /// Ends a board's session and tells the board, now if it is there and later if not.
    func endAndTell(
        _ record: SessionRecord, reason: String, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard let board = record.session.installationID, let key = record.deviceKey else {
            return try end(
                record, reason: reason, actor: actor, farewell: nil, transaction, at: now)
        }
        let sequence = try transaction.nextSequence(
            sealKey: keys.seal.id, board: board, at: now)
        let message = AuthorityMessage(
            id: try newMessageID(), issuedAt: now,
            body: .revoked(sequence: sequence, session: record.id, reason: reason))
        let payload = try cryptography.seal(
            message.plaintext, to: RecipientKey(board: board, key: key), from: keys.seal,
            topic: inbox(of: board))
        let until = min(
            record.session.expiresAt ?? record.absoluteLimit,
            now + AuthorityRules.longestFarewell)
        if try transaction.openClaim(on: board) != nil {
            // The inbox retains a provisioning, so this is said at once and not retained.
            try transaction.add(.say(board, payload: payload, until: until))
        }
        try end(
            record, reason: reason, actor: actor,
            farewell: Farewell(payload: payload, until: until), transaction, at: now)
    }

    func invalidateFamily(
        of record: SessionRecord, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        guard let id = record.family, var family = try transaction.family(id) else { return }
        family.invalidated = true
        try transaction.save(family)
    }

    func audit(
        _ event: String, _ actor: String, _ board: InstallationID?, _ session: ObjectID?,
        _ detail: String, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        try transaction.append(AuditEntry(
            at: now, event: event, actor: actor, board: board, session: session,
            detail: String(detail.prefix(500))))
    }

    /// Ends, for good, whatever a limit has passed of. Bounded: call it again while it
    /// returns true. The clock of the authority alone decides.
    package func sweep() async throws(AuthorityError) -> Bool {
        let now = clock()
        let limit = 200
        let (lines, more) = try await store.transact { transaction throws(AuthorityError) in
            let claims = try transaction.openClaims(
                expiredBefore: now - AuthorityRules.claimGrace, limit: limit)
            for claim in claims {
                try close(
                    claim, as: .expired, detail: "", actor: "authority", transaction, at: now)
            }
            let sessions = try transaction.expiredSessions(
                at: now, idleSince: rules.lifetimes.idle.map { now - $0 }, limit: limit)
            for record in sessions {
                try end(
                    record, reason: UnavailableReason.expired.rawValue, actor: "authority",
                    farewell: nil, transaction, at: now)
            }
            let farewells = try transaction.overdueFarewells(at: now, limit: limit)
            for var record in farewells {
                record.farewell = nil
                try transaction.save(record, at: now)
                if let board = record.session.installationID {
                    try settleBroker(board, transaction, at: now)
                }
            }
            try transaction.deleteReplies(expiredBefore: now)
            try transaction.deleteFailures(before: now - LoginLimit.window)
            return (try transaction.linesWithChores(),
                    max(claims.count, sessions.count, farewells.count) == limit)
        }
        for line in lines { courier.nudge(line) }
        return more
    }
}
