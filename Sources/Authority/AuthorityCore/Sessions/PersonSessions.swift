package import Sessions
import Wire

/// Creates and changes sessions for people.
extension Authority {
    package func upgrade(_ caller: Caller) async throws(AuthorityError) -> LoggedIn {
        try await act(.upgrade, by: caller) { act throws(AuthorityError) in
            try act.opening.successor(of: act.session)
        }
    }

    package func makeSession(
        _ draft: SessionDraft, by caller: Caller
    ) async throws(AuthorityError) -> LoggedIn {
        try await act(.makeSession, by: caller) { act throws(AuthorityError) in
            try act.opening.device(
                on: draft.installation, try CustomFields(draft.custom), by: act.session.session)
        }
    }

    package func update(
        _ id: ObjectID, with draft: SessionDraft, by caller: Caller
    ) async throws(AuthorityError) -> SessionView {
        try await act(.update, by: caller) { act throws(AuthorityError) in
            let withFields = !CustomFields.settable(draft.custom).isEmpty
            guard act.rights.mayUpdate(id, withFields: withFields, from: act.session.id) else {
                throw .refused(CallerRights.restricted)
            }
            let before = try act.living(id)
            var record = before
            if let installation = draft.installation {
                try bind(&record, to: installation, act)
            }
            record.session.custom = try CustomFields(
                draft.custom, over: record.session.custom).members
            guard record.session != before.session else {
                return try view(of: record, act.transaction, at: act.now)
            }
            try act.transaction.save(record, at: act.now)
            try act.audit("session.updated", of: record, "")
            try note(
                .updated, of: record, "by \(act.user.username)", act.transaction, at: act.now)
            try tellUpdate(of: record, act.transaction, at: act.now)
            return try view(of: record, act.transaction, at: act.now)
        }
    }

    /// Sets a session's installation id, once. The user's earlier sessions of that installation
    /// end. A restricted caller cannot end sessions on boards or unrestricted ones: it gets 119.
    private func bind(
        _ record: inout SessionRecord, to installation: InstallationID, _ act: Act
    ) throws(AuthorityError) {
        guard record.session.installationID != installation else { return }
        guard record.session.installationID == nil else {
            throw .refuse(.forbidden, "the installationId of a session cannot be changed")
        }
        let earlier = try act.transaction.activeSessions(
            of: record.session.user, on: installation)
        let areDevices = earlier.allSatisfy { $0.isOffBoard && $0.session.restricted }
        guard !act.rights.isRestricted || areDevices else {
            throw .refused(CallerRights.restricted)
        }
        try endEarlier(
            on: installation, of: record.session.user, but: record.id,
            actor: act.user.username, act.transaction, at: act.now)
        record.session.installationID = installation
    }

    package func revokeAll(
        of username: String, keepsBoards: Bool, by caller: Caller
    ) async throws(AuthorityError) -> Int {
        try await act(.revokeAll, by: caller) { act throws(AuthorityError) in
            let subject = try act.subject(named: username)
            _ = try act.transaction.deleteRecoveryCode(of: subject.objectID)
            let count = try endAll(
                of: subject.objectID, but: act.session.id, keepsBoards: keepsBoards,
                reason: UnavailableReason.revoked.rawValue, actor: act.user.username,
                act.transaction, at: act.now)
            try act.audit("user.revoked", "\(count) sessions of \(subject.username)")
            return count
        }
    }
}

extension Act {
    fileprivate var opening: SessionOpening {
        SessionOpening(authority: authority, transaction: transaction, user: user, now: now)
    }
}
