import Sessions

/// One thing that a caller does, within its transaction: his session and his rights as they
/// stand there, not as they stood when his token was looked at.
struct Act {
    let authority: Authority
    let transaction: any AuthorityTransaction
    /// The session that asks.
    let session: SessionRecord
    let user: UserRecord
    let rights: CallerRights
    /// There is nothing for this caller in what he asked to see.
    let seesNothing: Bool
    let now: Timestamp

    /// Judges again who asks; `Authority.holder` did before a body was read, so that no stranger's
    /// is. What was true there need not be now: time passes, a body takes up to 15 s to come, and
    /// any authority may have ended the session. It is 209 then, whatever it asks for.
    init(
        _ deed: Deed, by caller: Caller, _ authority: Authority,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let (session, user) = caller.isMaster
            ? Self.master(at: now) : try Self.living(caller, authority, transaction, at: now)
        let rights = CallerRights(
            isRestricted: session.session.restricted, isAdministrator: user.isAdministrator,
            mayClaim: user.mayClaim, isMaster: caller.isMaster)
        let verdict = rights.judge(deed)
        if case .refused(let refusal) = verdict { throw .refused(refusal) }
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

    /// What stands for the master key's holder, who is in no table.
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

    /// A session that the caller may see; 101 for any other, there or not.
    func visible(_ id: ObjectID) throws(AuthorityError) -> SessionRecord {
        guard let record = try transaction.session(id),
            rights.maySee(record.session, of: user.objectID)
        else { throw .refuse(.notFound, "no such session") }
        return record
    }

    /// A session that the caller may see and that lives.
    func living(_ id: ObjectID) throws(AuthorityError) -> SessionRecord {
        let record = try visible(id)
        guard record.isLive(at: now, under: authority.rules.lifetimes) else {
            throw .refuse(.notFound, "that session is over")
        }
        guard record.state == .active else {
            throw .refuse(.forbidden, "that session still waits for its board")
        }
        return record
    }

    /// The user of that name, who is the caller or anyone if he is an administrator.
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

/// A session that somebody asks by, and its user.
package struct HeldSession: Sendable {
    package let session: SessionRecord
    package let user: UserRecord

    package init(session: SessionRecord, user: UserRecord) {
        self.session = session
        self.user = user
    }

    /// The one rule for who may ask over HTTP.
    func mayAsk(at now: Timestamp, under lifetimes: LifetimePolicy) -> Bool {
        session.isOffBoard && session.isLive(at: now, under: lifetimes) && user.isEnabled
    }
}

extension SessionRecord {
    /// Whether people's programs may use it: it lives on no board.
    var isOffBoard: Bool { deviceKey == nil }
}

extension Authority {
    /// Does something for a caller in one transaction, and asks the courier at once for all
    /// that follows from it at the broker.
    func act<R: Sendable>(
        _ deed: Deed, by caller: Caller,
        _ body: @escaping @Sendable (Act) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let now = clock()
        return try await transactAndTell { transaction throws(AuthorityError) in
            let act = try Act(deed, by: caller, self, transaction, at: now)
            guard !act.seesNothing else { throw .refused(CallerRights.restricted) }
            return try body(act)
        }
    }

    /// The same without writing. Who may see nothing gets `nothing`, or 101.
    func look<R: Sendable>(
        _ deed: Deed, by caller: Caller, nothing: R? = nil,
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

    /// One transaction; then the courier is sent to each line that it left chores in.
    func transactAndTell<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let (result, lines) = try await store.transact { transaction throws(AuthorityError) in
            (try body(transaction), transaction.choreLines)
        }
        for line in lines { courier.nudge(line) }
        return result
    }
}
