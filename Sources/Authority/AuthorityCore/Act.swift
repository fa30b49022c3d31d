import Sessions

/// One action of a caller within a transaction. It uses the caller's session and rights as the
/// transaction reads them, not as they were when the token was checked.
struct Act {
    let authority: Authority
    let transaction: any AuthorityTransaction
    /// The session that asks.
    let session: SessionRecord
    let user: UserRecord
    let rights: CallerRights
    /// The caller may ask, but sees an empty result.
    let seesNothing: Bool
    /// Whether a person asks at the page.
    let isAtPage: Bool
    let now: Timestamp

    /// Checks the caller again. `Authority.holder` checked the caller before the body was read, so
    /// that no stranger's body is read. That check may be outdated: a body may take up to 15 s, and
    /// any authority may have ended the session. If so, throws 209 for every action.
    init(
        _ deed: CallKind, by caller: Caller, _ authority: Authority,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let (session, user) = caller.isMaster
            ? Self.master(at: now) : try Self.living(caller, authority, transaction, at: now)
        let rights = CallerRights(
            isRestricted: session.session.restricted, isAdministrator: user.isAdministrator,
            mayClaim: user.mayClaim, isMaster: caller.isMaster)
        let verdict = rights.judge(deed)
        if case .refused(let refusal) = verdict { throw .refused(refusal) }
        isAtPage = caller.isAtPage || session.isOfPage
        try session.requireConfirmation(for: deed, of: user, atPage: isAtPage, at: now)
        seesNothing = verdict == .nothing
        self.authority = authority
        self.transaction = transaction
        self.session = session
        self.user = user
        self.rights = rights
        self.now = now
    }

    private static func living(
        _ caller: Caller, _ authority: Authority, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) -> (SessionRecord, UserRecord) {
        guard let held = try transaction.held(caller.session.objectID),
            held.user.objectID == caller.user.objectID,
            held.mayAsk(at: now, under: authority.rules.lifetimes)
        else { throw .sessionOver }
        return (held.session, held.user)
    }

    /// The session and user for a caller with the master key, who is in no table.
    private static func master(at now: Timestamp) -> (SessionRecord, UserRecord) {
        let view = Caller.master.user
        let session = SessionRecord(
            session: Caller.master.session, state: .active, tokenHash: [], family: nil,
            deviceKey: nil, scope: nil, absoluteLimit: nil, lastSeen: now)
        let user = UserRecord(
            objectID: view.objectID, username: view.username, passwordHash: nil,
            isAdministrator: true, mayClaim: false, createdAt: view.createdAt)
        return (session, user)
    }

    /// A session that the caller may see. Any other throws 101, whether it exists or not.
    func visible(_ id: ObjectID) throws(AuthorityError) -> SessionRecord {
        guard let record = try transaction.session(id),
            rights.maySee(record.session, of: user.objectID)
        else { throw .refuse(.notFound, "no such session") }
        return record
    }

    /// A session that the caller may see and that is active. Throws 101 if it has ended, 119 if it
    /// is pending.
    func living(_ id: ObjectID) throws(AuthorityError) -> SessionRecord {
        try living(try visible(id))
    }

    /// The same session, if it is active.
    func living(_ record: SessionRecord) throws(AuthorityError) -> SessionRecord {
        guard record.isLive(at: now, under: authority.rules.lifetimes) else {
            throw .refuse(.notFound, "that session has ended")
        }
        guard record.state == .active else {
            throw .refuse(.forbidden, "that session is pending: its board has not accepted it yet")
        }
        return record
    }

    /// The user with that name: the caller, or any user if the caller is an administrator.
    func subject(named name: String) throws(AuthorityError) -> UserRecord {
        let found = try Username(name).flatMap { name throws(AuthorityError) in
            try transaction.user(named: name.description)
        }
        guard found?.objectID == user.objectID || user.isAdministrator else {
            throw .refuse(.forbidden, "only an administrator may do this")
        }
        guard let found else { throw .refuse(.notFound, "no such user") }
        return found
    }

    func audit(
        _ event: String, of record: SessionRecord? = nil, _ detail: String
    ) throws(AuthorityError) {
        try authority.audit(
            event, user.username, record?.board, record?.id, detail, transaction, at: now)
    }
}

/// A session and its user.
package struct UserSession: Sendable {
    package let session: SessionRecord
    package let user: UserRecord

    package init(session: SessionRecord, user: UserRecord) {
        self.session = session
        self.user = user
    }

    /// Whether this session may ask over HTTP. No other code decides this.
    func mayAsk(at now: Timestamp, under lifetimes: LifetimePolicy) -> Bool {
        session.isOffBoard && session.isLive(at: now, under: lifetimes) && user.isEnabled
    }
}

extension SessionRecord {
    /// Whether the session lives on no board. Only then people's programs may use it.
    var isOffBoard: Bool { deviceKey == nil }
}

extension Authority {
    /// Runs an action of a caller in one transaction. Then asks the worker to do the broker jobs
    /// that it added.
    func act<R: Sendable>(
        _ deed: CallKind, by caller: Caller,
        _ body: @escaping @Sendable (Act) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let now = clock()
        return try await transactAndTell { transaction throws(AuthorityError) in
            let act = try Act(deed, by: caller, self, transaction, at: now)
            guard !act.seesNothing else { throw .refused(CallerRights.restricted) }
            return try body(act)
        }
    }

    /// The same without writing. A caller who may see nothing gets `nothing`, or 101 if that is
    /// nil.
    func look<R: Sendable>(
        _ deed: CallKind, by caller: Caller, nothing: R? = nil,
        _ body: @escaping @Sendable (Act) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            let act = try Act(deed, by: caller, self, transaction, at: now)
            guard act.seesNothing else { return try body(act) }
            guard let nothing else { throw .refuse(.notFound, "Object not found.") }
            return nothing
        }
    }

    /// Runs one transaction, then asks the worker to do the jobs that it added. Spends the request.
    func transactAndTell<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let now = clock()
        let (result, lines) = try await store.transact { transaction throws(AuthorityError) in
            try spend(transaction, at: now)
            return (try body(transaction), transaction.jobLines)
        }
        for line in lines { worker.wake(line) }
        return result
    }
}
