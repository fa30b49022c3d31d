package import Sessions
import Wire

/// What a user says of themselves: name, e-mail address, own fields, and password.
package struct ProfileChange: Sendable {
    package enum Email: Sendable {
        case set(String)
        case remove
    }

    /// Parse's `authData.anonymous` in a change.
    package enum AnonymousID: Sendable {
        /// The present id, which an app sends with all it knows of the user. Another id is refused.
        case keep(SecretBytes)
        case remove
    }

    package var username: String?
    package var email: Email?
    /// Values and operations. `CustomFields` checks them.
    package var fields: [String: JSONValue] = [:]
    package var password: PasswordChange?
    package var anonymousID: AnonymousID?

    package init() {}

    package var isEmpty: Bool { password == nil && !isMoreThanPassword }

    fileprivate var isMoreThanPassword: Bool {
        username != nil || email != nil || !fields.isEmpty || anonymousID != nil
    }

    /// Checks the form of all parts, before a password is hashed for them.
    func requireForm() throws(AuthorityError) {
        if let username { _ = try Authority.newName(username) }
        if case .set(let text)? = email { _ = try Self.address(text) }
        if let password { try Authority.requireUsable(password.password) }
    }

    /// The codes and texts of Parse server.
    fileprivate static func address(_ text: String) throws(AuthorityError) -> EmailAddress {
        guard !text.isEmpty else { throw .refuse(.emailMissing, "you must provide an email") }
        guard let address = EmailAddress(text) else {
            throw .refuse(.badEmail, "Email address format is invalid.")
        }
        return address
    }
}

/// Changes users for themselves and for administrators.
extension Authority {
    package func change(
        _ id: UserID, _ change: ProfileChange, by caller: Caller
    ) async throws(AuthorityError) -> UserView {
        let subject = try await look(.changeProfile, by: caller) { act throws(AuthorityError) in
            let subject = try act.subject(id)
            _ = try applied(change, to: subject, act.transaction, at: act.now)
            if let password = change.password, password.old == nil {
                try act.requireFreedom(toSetPasswordOf: subject)
            }
            return subject
        }
        let isOwn = id == caller.user.objectID && !caller.isMaster
        try change.requireForm()
        let proven = isOwn ? try await proven(change.password, of: subject) : nil
        var hash: String?
        if let password = change.password?.password {
            hash = try await cryptography.hashPassword(password)
        }
        return try await act(.changeProfile, by: caller) { [hash] act throws(AuthorityError) in
            let subject = try act.subject(id)
            guard proven == nil || proven == subject.passwordHash else { throw .loginFailed }
            if hash != nil, proven == nil { try act.requireFreedom(toSetPasswordOf: subject) }
            let changed = try store(change, hash, of: subject, act)
            guard let hash else { return changed.view }
            if proven != nil, let password = change.password {
                try uncount(LoginKeys(subject, password), act.transaction)
            }
            try replacePassword(
                of: changed, by: hash, keepsBoards: change.password?.keepsBoards ?? false,
                but: act.session.id, actor: changed.actor(in: act), act.transaction, at: act.now)
            return changed.view
        }
    }

    /// Checks the old password, if there is one, and returns its hash. Counts tries and answers
    /// like a login.
    private func proven(
        _ change: PasswordChange?, of subject: UserRecord
    ) async throws(AuthorityError) -> String? {
        guard let change, let old = change.old else { return nil }
        return try await authenticate(old, LoginKeys(subject, change), from: change.origin)
            .passwordHash
    }

    /// Stores all but the password. An anonymous user who gets a name and a password is anonymous
    /// no more.
    private func store(
        _ change: ProfileChange, _ hash: String?, of subject: UserRecord, _ act: Act
    ) throws(AuthorityError) -> UserRecord {
        var changed = try applied(change, to: subject, act.transaction, at: act.now)
        let isNamed = change.username != nil && hash != nil
        if isNamed { changed.anonymousHash = nil }
        if case .remove? = change.anonymousID { changed.anonymousHash = nil }
        if subject.anonymousHash != changed.anonymousHash {
            var after = changed
            after.passwordHash = hash ?? subject.passwordHash
            try requireWayIn(of: after, act.transaction)
        }
        try act.transaction.saveProfile(changed)
        if changed.username != subject.username {
            try act.audit("user.renamed", "\(subject.username) is now \(changed.username)")
        } else if change.isMoreThanPassword {
            try act.audit("user.changed", subject.username)
        }
        return changed
    }

    /// The user with name, e-mail and fields changed, not stored yet. 202 and 203 if another user
    /// has them.
    func applied(
        _ change: ProfileChange, to user: UserRecord, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) -> UserRecord {
        var changed = user
        if let text = change.username {
            changed.username = try Self.newName(text).description
            let holder = try transaction.user(named: changed.username)
            guard holder?.objectID ?? user.objectID == user.objectID else { throw Self.nameTaken }
        }
        switch change.email {
        case .set(let text)?:
            let email = try ProfileChange.address(text)
            let holder = try transaction.user(email: email)
            guard holder?.objectID ?? user.objectID == user.objectID else { throw Self.emailTaken }
            changed.email = email
        case .remove?: changed.email = nil
        case nil: break
        }
        if case .keep(let id)? = change.anonymousID {
            guard let hash = user.anonymousHash, try hash == anonymousHash(of: id) else {
                throw .refuse(.forbidden, "authData.anonymous can be kept or removed, not changed")
            }
        }
        changed.fields = try CustomFields(change.fields, over: user.fields, of: .user).members
        changed.updatedAt = max(now, user.updatedAt)
        return changed
    }

    /// Stores what a login says of its known user.
    func keep(
        _ profile: ProfileChange, of user: UserRecord, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) -> UserRecord {
        guard !profile.isEmpty else { return user }
        let changed = try applied(profile, to: user, transaction, at: now)
        try transaction.saveProfile(changed)
        try audit("user.changed", user.username, nil, nil, user.username, transaction, at: now)
        return changed
    }

    /// The texts of Parse server.
    static let nameTaken = AuthorityError.refuse(
        .usernameTaken, "Account already exists for this username.")
    static let emailTaken = AuthorityError.refuse(
        .emailTaken, "Account already exists for this email address.")
}

extension LoginKeys {
    fileprivate init(_ user: UserRecord, _ change: PasswordChange) {
        self.init(name: Username(user.username), origin: change.origin)
    }
}

extension UserRecord {
    /// The name of the caller after the change of this user.
    fileprivate func actor(in act: Act) -> String {
        objectID == act.user.objectID ? username : act.user.username
    }
}

extension Act {
    /// The user with that id: the caller, or any user if the caller is an administrator. Otherwise
    /// 101.
    fileprivate func subject(_ id: UserID) throws(AuthorityError) -> UserRecord {
        guard let found = try transaction.user(id),
            found.objectID == user.objectID || user.isAdministrator
        else { throw .refuse(.notFound, "Object not found.") }
        return found
    }

    /// Checks that the caller may set this user's password without the old one. Administrators may
    /// set the password of others. A user may set their own who has just logged in or confirmed, or
    /// who is anonymous and has none.
    fileprivate func requireFreedom(
        toSetPasswordOf subject: UserRecord
    ) throws(AuthorityError) {
        guard subject.objectID == user.objectID else {
            return try requireConfirmationAtPage()
        }
        if subject.passwordHash == nil, subject.anonymousHash != nil { return }
        guard session.isConfirmed(at: now) else {
            throw .refuse(
                .validation, "to change your own password, send oldPassword too, or log in again: "
                    + "this session is older than 5 minutes")
        }
    }
}
