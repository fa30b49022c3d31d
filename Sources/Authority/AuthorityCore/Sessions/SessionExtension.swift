package import Sessions
import Wire

/// Extends sessions. Source: the wire contract, Heartbeat.
extension Authority {
    package func extend(
        _ id: ObjectID, by span: Duration, shortens: Bool, by caller: Caller
    ) async throws(AuthorityError) -> SessionView {
        try await act(.extend, by: caller) { act throws(AuthorityError) in
            if shortens { try act.requireConfirmationAtPage() }
            var record = try act.living(try act.manageable(id))
            do throws(Refusal) {
                let end = try extended(record, by: span, at: act.now)
                if !shortens { try requireLonger(record, until: end, span) }
                record.session.expiresAt = end
            } catch {
                throw .refused(error)
            }
            try act.transaction.save(record, at: act.now)
            try auditExtension(
                of: record, actor: act.user.username, act.transaction, at: act.now)
            try tellUpdate(of: record, act.transaction, at: act.now)
            return try view(of: record, act.transaction, at: act.now)
        }
    }

    /// The new end, `minutes` from now.
    func extended(
        _ record: SessionRecord, minutes: Int64, at now: Timestamp
    ) throws(Refusal) -> Timestamp {
        let longest = LifetimePolicy.longest.components.seconds / 60
        return try extended(
            record, by: .seconds(min(max(minutes, 0), longest + 1) * 60), at: now)
    }

    /// The new end, in whole seconds as on the wire.
    private func extended(
        _ record: SessionRecord, by span: Duration, at now: Timestamp
    ) throws(Refusal) -> Timestamp {
        guard (LifetimePolicy.shortest...LifetimePolicy.longest).contains(span) else {
            throw .durationOutOfRange
        }
        let end = Timestamp(milliseconds: (now + span).seconds * 1000)
        if let limit = record.latestEnd(under: rules.lifetimes), end > limit {
            throw Refusal(
                .validation,
                "that is after the session's absolute limit; it can last until \(limit.words)",
                name: .durationOutOfRange)
        }
        return end
    }

    /// Refuses an end that is earlier than the present one.
    private func requireLonger(
        _ record: SessionRecord, until end: Timestamp, _ span: Duration
    ) throws(Refusal) {
        let present = record.certainEnd(under: rules.lifetimes)
        if let present, present <= end { return }
        let lifetimes = rules.lifetimes
        let words = present.map { "ends at \($0.words)" }
            ?? lifetimes.idle.map { idle in
                let user = record.board == nil ? "it was last used" : "the board was last heard"
                return "ends \(idle.words) after \(user)"
            } ?? "ends only when somebody ends it"
        throw Refusal(
            .validation, "the session \(words); \(span.words) from now would be earlier",
            name: .wouldShorten)
    }

    /// The latest end that `extend` can set. Nil: it can set none, because the session has ended or
    /// waits for its board.
    func latestEnd(of record: SessionRecord, at now: Timestamp) -> Timestamp? {
        guard record.state == .active, record.isLive(at: now, under: rules.lifetimes) else {
            return nil
        }
        let longest = now + LifetimePolicy.longest
        return min(record.latestEnd(under: rules.lifetimes) ?? longest, longest)
    }

    func auditExtension(
        of record: SessionRecord, actor: String, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) {
        let end = record.session.expiresAt.map { "\($0.seconds)" } ?? "for ever"
        try audit(
            "session.extended", actor, record.board, record.id, "until \(end)", transaction,
            at: now)
        try note(.extended, of: record, "by \(actor), until \(end)", transaction, at: now)
    }

    /// Sends the changed session to its board, if the board is there. The next heartbeat has the
    /// same content. While a changed scope waits for the board, each such message has its id,
    /// because each brings that scope.
    func tellUpdate(
        of record: SessionRecord, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard record.state == .active, let board = record.board, let key = record.deviceKey
        else { return }
        let id = if let notice = record.scopeNotice { notice.id } else { try newMessageID() }
        let payload = try sealedUpdate(
            of: record, as: id, to: RecipientKey(board: board, key: key), transaction, at: now)
        try transaction.add(
            .say(board, payload: payload, until: now + AuthorityRules.replyLifetime))
    }

    func sealedUpdate(
        of record: SessionRecord, as id: MessageID, to recipient: RecipientKey,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> [UInt8] {
        let sequence = try transaction.nextSequence(
            sealKey: keys.seal.id, board: recipient.board, at: now)
        let message = AuthorityMessage(
            id: id, issuedAt: now,
            body: .updated(
                sequence: sequence, session: record.session,
                scope: try record.scope?.document()))
        return try cryptography.seal(
            message.plaintext, to: recipient, from: keys.seal, topic: inbox(of: recipient.board))
    }
}
