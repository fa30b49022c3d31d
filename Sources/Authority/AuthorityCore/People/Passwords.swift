package import Sessions

/// Sets passwords. A new password ends the user's other sessions.
extension Authority {
    package func setPassword(
        _ change: PasswordChange, by caller: Caller
    ) async throws(AuthorityError) {
        let isOwn = try await look(.setPassword, by: caller) { act throws(AuthorityError) in
            try act.subject(named: change.username).objectID == act.user.objectID
        }
        try Self.requireUsable(change.password)
        let proven = isOwn ? try await proven(change) : nil
        let hash = try await cryptography.hashPassword(change.password)
        try await act(.setPassword, by: caller) { act throws(AuthorityError) in
            let subject = try act.subject(named: change.username)
            guard isOwn == (subject.objectID == act.user.objectID),
                proven == nil || proven == subject.passwordHash
            else { throw .loginFailed }
            if isOwn {
                try uncount(
                    LoginKeys(name: Username(change.username), origin: change.origin),
                    act.transaction)
            }
            try replacePassword(
                of: subject, by: hash, keepsBoards: change.keepsBoards, but: act.session.id,
                actor: act.user.username, act.transaction, at: act.now)
        }
    }

    /// The same for the authority's command line. `actor` is the name for the audit log.
    package func setPassword(
        _ password: SecretBytes, of username: String, actor: String, keepsBoards: Bool = false
    ) async throws(AuthorityError) {
        try Self.requireUsable(password)
        let hash = try await cryptography.hashPassword(password)
        let now = clock()
        try await transactAndTell { transaction throws(AuthorityError) in
            guard let user = try transaction.user(named: username) else {
                throw .refuse(.notFound, "no such user")
            }
            try replacePassword(
                of: user, by: hash, keepsBoards: keepsBoards, but: nil, actor: actor,
                transaction, at: now)
        }
    }

    /// Checks the old password and returns its hash. Counts tries and answers like a login.
    private func proven(_ change: PasswordChange) async throws(AuthorityError) -> String? {
        guard let old = change.old else {
            throw .refuse(.validation, "to change your own password, send the old one too")
        }
        let keys = LoginKeys(name: Username(change.username), origin: change.origin)
        return try await authenticate(old, keys, from: change.origin).passwordHash
    }

    private func replacePassword(
        of user: UserRecord, by hash: String, keepsBoards: Bool, but kept: ObjectID?,
        actor: String, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        try transaction.setPasswordHash(hash, of: user.objectID)
        try audit("user.password", actor, nil, nil, user.username, transaction, at: now)
        try endAll(
            of: user.objectID, but: kept, keepsBoards: keepsBoards,
            reason: UnavailableReason.revoked.rawValue, actor: actor, transaction, at: now)
    }

    static func requireUsable(_ password: SecretBytes) throws(AuthorityError) {
        guard (8...1024).contains(password.count) else {
            throw .refuse(.validation, "a password has 8 to 1024 bytes")
        }
    }
}
