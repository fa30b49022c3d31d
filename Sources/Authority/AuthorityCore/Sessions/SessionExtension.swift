package import Sessions
import Wire

/// Extends sessions. Source: the wire contract, Heartbeat.
extension Authority {
    package func extend(
        _ id: ObjectID, by span: Duration, by caller: Caller
    ) async throws(AuthorityError) -> SessionView {
        try await act(.extend, by: caller) { act throws(AuthorityError) in
            var record = try act.living(id)
            do throws(Refusal) {
                record.session.expiresAt = try extended(record, by: span, at: act.now)
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
            throw Refusal(.validation, "a session lasts from 5 minutes to 1 year")
        }
        let end = Timestamp(milliseconds: (now + span).seconds * 1000)
        if let limit = record.latestEnd(under: rules.lifetimes), end > limit {
            throw Refusal(.validation, "that is after the session's absolute limit")
        }
        return end
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
    /// same content.
    func tellUpdate(
        of record: SessionRecord, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard record.state == .active, let board = record.board, let key = record.deviceKey
        else { return }
        let sequence = try transaction.nextSequence(
            sealKey: keys.seal.id, board: board, at: now)
        let message = AuthorityMessage(
            id: try newMessageID(), issuedAt: now,
            body: .updated(
                sequence: sequence, session: record.session,
                scope: try record.scope?.document()))
        let payload = try cryptography.seal(
            message.plaintext, to: RecipientKey(board: board, key: key), from: keys.seal,
            topic: inbox(of: board))
        try transaction.add(
            .say(board, payload: payload, until: now + AuthorityRules.replyLifetime))
    }
}
