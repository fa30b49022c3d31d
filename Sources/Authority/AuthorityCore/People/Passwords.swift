package import Sessions

/// Sets passwords. A new password ends the user's other sessions and recovery code.
extension Authority {
    package func setPassword(
        _ change: PasswordChange, by caller: Caller
    ) async throws(AuthorityError) {
        let id = try await look(.changeProfile, by: caller) { act throws(AuthorityError) in
            try act.subject(named: change.username).objectID
        }
        var profile = ProfileChange()
        profile.password = change
        _ = try await self.change(id, profile, by: caller)
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

    func replacePassword(
        of user: UserRecord, by hash: String, keepsBoards: Bool, but kept: ObjectID?,
        actor: String, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        try transaction.setPasswordHash(hash, of: user.objectID)
        _ = try transaction.deleteRecoveryCode(of: user.objectID)
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
