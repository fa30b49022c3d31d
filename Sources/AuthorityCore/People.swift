package import Sessions
import Wire

/// Users, as administrators see and make them.
extension Authority {
    package func users(by caller: Caller) async throws(AuthorityError) -> [UserView] {
        try requireAdministrator(caller)
        return try await store.read { transaction throws(AuthorityError) in
            try transaction.users().map(\.view)
        }
    }

    package func addUser(
        _ user: NewUser, by caller: Caller
    ) async throws(AuthorityError) -> UserView {
        try requireAdministrator(caller)
        return try await addUser(user, actor: caller.user.username)
    }

    /// The same from the authority's own command line, where `actor` says who.
    package func addUser(
        _ user: NewUser, actor: String
    ) async throws(AuthorityError) -> UserView {
        guard let name = Username(user.username) else {
            throw .refuse(.validation, "a username has 1 to 64 of [A-Za-z0-9._@-]")
        }
        try Self.requireUsable(user.password)
        let record = UserRecord(
            objectID: try newUserID(), username: name.description,
            passwordHash: try await cryptography.hashPassword(user.password),
            isAdministrator: user.isAdministrator,
            mayClaim: user.mayClaim || user.isAdministrator, createdAt: clock())
        try await store.transact { transaction throws(AuthorityError) in
            guard try transaction.insert(record) else {
                throw .refuse(.validation, "there is a user of this name")
            }
            try audit(
                "user.added", actor, nil, nil, record.username, transaction,
                at: record.createdAt)
        }
        return record.view
    }

    /// Sets a password; the user's own sessions end, those on boards stay.
    package func setPassword(
        _ password: SecretBytes, of username: String, actor: String
    ) async throws(AuthorityError) {
        try Self.requireUsable(password)
        let hash = try await cryptography.hashPassword(password)
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            guard let user = try transaction.user(named: username) else {
                throw .refuse(.notFound, "no such user")
            }
            try transaction.setPasswordHash(hash, of: user.objectID)
            try audit("user.password", actor, nil, nil, user.username, transaction, at: now)
            let own = try transaction.sessions(of: user.objectID)
            for record in own where record.state == .active && !record.session.restricted {
                try end(
                    record, reason: "password changed", actor: actor, farewell: nil,
                    transaction, at: now)
            }
        }
    }

    package func everyUser() async throws(AuthorityError) -> [UserView] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.users().map(\.view)
        }
    }

    package func audit(
        _ query: AuditQuery, by caller: Caller
    ) async throws(AuthorityError) -> [AuditEntry] {
        try requireAdministrator(caller)
        return try await store.read { transaction throws(AuthorityError) in
            try transaction.entries(query)
        }
    }

    func requireAdministrator(_ caller: Caller) throws(AuthorityError) {
        guard caller.user.isAdministrator, !caller.session.restricted else {
            throw .refuse(.forbidden, "only an administrator may do this")
        }
    }

    private static func requireUsable(_ password: SecretBytes) throws(AuthorityError) {
        guard (8...1024).contains(password.count) else {
            throw .refuse(.validation, "a password has 8 to 1024 bytes")
        }
    }
}
