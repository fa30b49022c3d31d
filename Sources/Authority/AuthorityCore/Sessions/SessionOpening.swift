import Sessions
import Wire

/// Creates a session that lives on no board, within the transaction that stores it.
struct SessionOpening {
    let authority: Authority
    let transaction: any AuthorityTransaction
    let user: UserRecord
    let now: Timestamp

    /// Creates a person's own session. Ends the oldest ones beyond the limit.
    func login(
        _ origin: CreatedWith, on installation: InstallationID?, _ custom: CustomFields = .none,
        from address: String
    ) throws(AuthorityError) -> LoggedIn {
        let opened = try open(origin, restricted: false, on: installation, custom)
        try endSurplusLogins(but: opened.session.objectID)
        try authority.audit(
            origin.action, user.username, nil, opened.session.objectID, address, transaction,
            at: now)
        return opened
    }

    /// Creates a session for a device. It is restricted, and each person has at most
    /// `LoginLimit.devices`.
    func device(
        on installation: InstallationID?, _ custom: CustomFields, by asking: Session
    ) throws(AuthorityError) -> LoggedIn {
        let others = try transaction.sessionsOffBoards(of: user.objectID).filter {
            $0.session.restricted
        }
        guard others.count < LoginLimit.devices else {
            throw .refuse(
                .quota, "you have \(others.count) sessions for devices; end some of them first")
        }
        let opened = try open(
            CreatedWith(.create, asIn: asking.createdWith), restricted: true,
            on: installation, custom)
        try authority.audit(
            "session.created", user.username, nil, opened.session.objectID, "", transaction,
            at: now)
        return opened
    }

    /// Replaces a session with a new one of the same person, and ends the old one. The new one
    /// lasts no longer, because a credential must not give more than it has.
    func successor(of old: SessionRecord) throws(AuthorityError) -> LoggedIn {
        try authority.end(
            old, reason: "upgraded", actor: user.username, endNotice: nil, transaction, at: now)
        let opened = try open(
            CreatedWith(.upgrade, asIn: old.session.createdWith),
            restricted: old.session.restricted, on: old.session.installationID,
            CustomFields(kept: old.session.custom), until: old.session.expiresAt,
            limit: old.latestEnd(under: authority.rules.lifetimes))
        try authority.audit(
            "upgrade", user.username, nil, opened.session.objectID, "in place of \(old.id)",
            transaction, at: now)
        return opened
    }

    private func open(
        _ origin: CreatedWith, restricted: Bool, on installation: InstallationID?,
        _ custom: CustomFields = .none
    ) throws(AuthorityError) -> LoggedIn {
        let end = authority.rules.lifetimes.absolute.map { now + $0 }
        return try open(
            origin, restricted: restricted, on: installation, custom, until: end, limit: end)
    }

    private func open(
        _ origin: CreatedWith, restricted: Bool, on installation: InstallationID?,
        _ custom: CustomFields, until end: Timestamp?, limit: Timestamp?
    ) throws(AuthorityError) -> LoggedIn {
        let token = try authority.newSessionToken(at: now)
        let session = Session(
            objectID: try authority.newObjectID(), user: user.objectID, restricted: restricted,
            createdWith: origin, installationID: installation, createdAt: now, expiresAt: end,
            custom: custom.members)
        if let installation {
            try authority.endEarlier(
                on: installation, of: user.objectID, but: session.objectID,
                actor: user.username, transaction, at: now)
        }
        let record = SessionRecord(
            session: session, state: .active,
            tokenHash: try authority.hash(of: token.secret), family: nil, deviceKey: nil,
            scope: nil, absoluteLimit: limit, lastSeen: now)
        try transaction.save(record, at: now)
        return LoggedIn(token: token, session: session, user: user.view)
    }

    /// Ends a person's oldest logins beyond the limit, so that none is hidden among many others.
    private func endSurplusLogins(but opened: ObjectID) throws(AuthorityError) {
        let others = try transaction.sessionsOffBoards(of: user.objectID).filter {
            !$0.session.restricted && $0.id != opened
        }
        for record in others.dropLast(LoginLimit.logins - 1) {
            try authority.end(
                record, reason: "too many logins", actor: user.username, endNotice: nil,
                transaction, at: now)
        }
    }
}

extension Authority {
    /// Ends a user's earlier sessions of an installation, because there may be only one. A board
    /// receives a message about it.
    func endEarlier(
        on installation: InstallationID, of user: UserID, but kept: ObjectID, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let earlier = try transaction.activeSessions(of: user, on: installation)
        for record in earlier where record.id != kept {
            try endAndTell(record, reason: "replaced", actor: actor, transaction, at: now)
        }
    }
}
