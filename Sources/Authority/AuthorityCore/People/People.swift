package import Sessions
import Wire

/// Lists, creates and changes users for administrators.
extension Authority {
    package func user(
        _ id: UserID, by caller: Caller
    ) async throws(AuthorityError) -> UserView {
        try await look(.users, by: caller) { act throws(AuthorityError) in
            guard let user = try act.transaction.user(id) else {
                throw .refuse(.notFound, "Object not found.")
            }
            return user.view
        }
    }

    package func users(
        _ slice: ListSlice?, by caller: Caller
    ) async throws(AuthorityError) -> [UserView] {
        try await look(.users, by: caller) { act throws(AuthorityError) in
            guard let slice else { return try act.transaction.users().map(\.view) }
            return try act.transaction.users(slice).map(\.view)
        }
    }

    package func addUser(
        _ user: NewUser, by caller: Caller
    ) async throws(AuthorityError) -> UserView {
        // Checked before the slow hashing, and again when the user is stored.
        try await look(.addUser, by: caller) { _ throws(AuthorityError) in }
        let record = try await newUser(user)
        return try await act(.addUser, by: caller) { act throws(AuthorityError) in
            try add(record, user.profile, actor: act.user.username, act.transaction)
        }
    }

    /// The same for the authority's command line. `actor` is the name for the audit log.
    package func addUser(
        _ user: NewUser, actor: String
    ) async throws(AuthorityError) -> UserView {
        let record = try await newUser(user)
        return try await store.transact { transaction throws(AuthorityError) in
            try add(record, user.profile, actor: actor, transaction)
        }
    }

    private func newUser(_ user: NewUser) async throws(AuthorityError) -> UserRecord {
        let name = try Self.newName(user.username)
        try Self.requireUsable(user.password)
        try user.profile.requireForm()
        return UserRecord(
            objectID: try newUserID(), username: name.description,
            passwordHash: try await cryptography.hashPassword(user.password),
            isAdministrator: user.isAdministrator,
            mayClaim: user.mayClaim || user.isAdministrator, createdAt: clock())
    }

    private func add(
        _ new: UserRecord, _ profile: ProfileChange, actor: String,
        _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> UserView {
        let record = try applied(profile, to: new, transaction, at: new.createdAt)
        guard try transaction.insert(record) else { throw Self.nameTaken }
        try audit(
            "user.added", actor, nil, nil, record.username, transaction, at: record.createdAt)
        return record.view
    }

    package func change(
        _ user: String, _ change: UserChange, by caller: Caller
    ) async throws(AuthorityError) -> UserView {
        try await act(.changeUser, by: caller) { act throws(AuthorityError) in
            let subject = try act.subject(named: user)
            guard change.isEnabled != false || subject.objectID != act.user.objectID else {
                throw .refuse(.forbidden, "administrators cannot disable themselves")
            }
            if change.isEnabled != nil { try act.requireConfirmationAtPage() }
            return try apply(
                change, to: subject, actor: act.user.username, act.transaction, at: act.now)
        }
    }

    /// The same for the authority's command line. `actor` is the name for the audit log.
    package func change(
        _ user: String, _ change: UserChange, actor: String
    ) async throws(AuthorityError) -> UserView {
        let now = clock()
        return try await transactAndTell { transaction throws(AuthorityError) in
            guard let subject = try transaction.user(named: user) else {
                throw .refuse(.notFound, "no such user")
            }
            return try apply(change, to: subject, actor: actor, transaction, at: now)
        }
    }

    private func apply(
        _ change: UserChange, to user: UserRecord, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> UserView {
        var subject = user
        func note(_ event: String) throws(AuthorityError) {
            try audit(event, actor, nil, nil, subject.username, transaction, at: now)
        }
        if let isEnabled = change.isEnabled, isEnabled != subject.isEnabled {
            subject.isEnabled = isEnabled
            try transaction.setEnabled(isEnabled, of: subject.objectID)
            try note(isEnabled ? "user.enabled" : "user.disabled")
            if !isEnabled {
                try endShares(with: subject.objectID, actor: actor, transaction, at: now)
                try endAll(
                    of: subject.objectID, but: nil, reason: UnavailableReason.revoked.rawValue,
                    actor: actor, transaction, at: now)
                try refuseCommands(
                    by: subject.objectID, actor: actor, transaction, at: now)
            }
        }
        if let mayClaim = change.mayClaim {
            guard mayClaim || !subject.isAdministrator else {
                throw .refuse(.forbidden, "an administrator may always claim boards")
            }
            if subject.mayClaim != mayClaim {
                subject.mayClaim = mayClaim
                try transaction.setMayClaim(mayClaim, of: subject.objectID)
                try note(mayClaim ? "user.may-claim" : "user.may-not-claim")
                if !mayClaim {
                    try endClaims(of: subject.objectID, actor: actor, transaction, at: now)
                    try endPreparedClaims(
                        of: subject.objectID, actor: actor, transaction, at: now)
                }
            }
        }
        if change != UserChange() {
            subject.updatedAt = max(now, subject.updatedAt)
            try transaction.saveProfile(subject)
        }
        return subject.view
    }

    /// Ends the user's open claims. A renewal that waits stays: the board is the user's already.
    private func endClaims(
        of user: UserID, actor: String, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        for session in try transaction.ownSessions(of: user) where session.state == .pending {
            guard let board = session.board,
                try transaction.openClaim(on: board)?.renews == nil
            else { continue }
            try cancelClaim(of: session, actor: actor, transaction, at: now)
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
        try await look(.audit, by: caller) { act throws(AuthorityError) in
            try act.transaction.entries(query)
        }
    }

    static func newName(_ text: String) throws(AuthorityError) -> Username {
        guard !text.isEmpty else { throw .refuse(.usernameMissing, "bad or missing username") }
        guard let name = Username(text) else {
            throw .refuse(
                .validation, "a username has 1 to 256 bytes, no control or invisible characters, "
                    + "and is none of the names that Postern uses itself")
        }
        return name
    }
}
