package import Sessions
package import Wire

/// Changes the scope of a living session. Source: the wire contract, Change of a session.
extension Authority {
    package func setScope(
        _ scope: ScopeDocument, of id: ObjectID, by caller: Caller
    ) async throws(AuthorityError) -> SessionView {
        try await act(.changeScope, by: caller) { act throws(AuthorityError) in
            var record = try act.living(try act.manageable(id))
            guard record.board != nil, record.deviceKey != nil else {
                throw .refuse(.forbidden, "only a session on a board has a scope")
            }
            let old = try record.scope?.document()
            if old != scope {
                record = try change(record, to: try accepted(scope, by: act.user), act)
            }
            return try view(of: record, act.transaction, at: act.now)
        }
    }

    /// Stores an accepted scope of a living session, and tells its board.
    @discardableResult
    func change(
        _ found: SessionRecord, to scope: ScopeText, _ act: Act
    ) throws(AuthorityError) -> SessionRecord {
        guard let board = found.board, let key = found.deviceKey else {
            throw .refuse(.forbidden, "only a session on a board has a scope")
        }
        var record = found
        let id = try newMessageID()
        record.scope = scope
        record.scopeNotice = ScopeNotice(
            id: id, payload: try sealedUpdate(
                of: record, as: id, to: RecipientKey(board: board, key: key),
                act.transaction, at: act.now))
        try act.transaction.save(record, at: act.now)
        try act.audit("session.scope", of: record, "changed; waiting for the board")
        try note(
            .updated, of: record, "scope, by \(act.user.username)", act.transaction, at: act.now)
        try addScopeJobs(of: record, on: board, before: try found.scope?.document(), act)
        return record
    }

    /// Adds the jobs that bring a changed scope to the board and its `topics` into the role. A
    /// board that hears of its scope before its role has grown would be refused.
    private func addScopeJobs(
        of record: SessionRecord, on board: InstallationID, before old: ScopeDocument?, _ act: Act
    ) throws(AuthorityError) {
        let topics = Set(try record.scope?.document().topics ?? [])
        let known = Set(old?.topics ?? [])
        let role = topics == known ? [] : [BrokerJob.login(board, password: false)]
        let isWider = !topics.isSubset(of: known)
        for job in isWider ? role + [.inbox(board)] : [.inbox(board)] + role {
            try act.transaction.add(job)
        }
        if try act.transaction.openClaim(on: board) != nil {
            // The inbox retains a provisioning.
            try tellUpdate(of: record, act.transaction, at: act.now)
        }
    }

    /// The text to store, or the refusal of a scope that this user may not give.
    func accepted(
        _ scope: ScopeDocument, by user: UserRecord
    ) throws(AuthorityError) -> ScopeText {
        let judgement = ScopeJudgement(
            root: info.topicRoot, mayGrant: rules.mayGrant,
            mayGrantTopics: user.isAdministrator)
        do throws(Refusal) {
            return try judgement.accept(scope)
        } catch {
            throw .refused(error)
        }
    }
}

extension BoardRequest {
    /// The board holds the scope that this message brought. An older message's confirmation changes
    /// nothing: a later scope still waits.
    func sessionConfirmed(
        _ re: MessageID, _ session: ObjectID
    ) throws(AuthorityError) {
        guard var record = try transaction.session(session), owns(record),
            record.state == .active, record.scopeNotice?.id == re
        else { return }
        record.scopeNotice = nil
        try transaction.save(record, at: now)
        try transaction.add(.inbox(sender.board))
        try authority.audit(
            "session.scope", "board", sender.board, session, "in force on the board", transaction,
            at: now)
    }
}

extension ScopeDocument {
    /// The topic filters that it grants.
    var topics: [String] { json.asObject?["topics"]?.asArray?.compactMap(\.asString) ?? [] }
}
