package import Sessions
package import Wire

/// The store holds all state that correctness needs. No process keeps such state by itself.
///
/// Each `transact` behaves as one write transaction, serialized with all others that touch the same
/// rows. A store may commit several together: see `CommitGroup` and `RequestGroup`.
/// When `body` returns, the changes are durable. When `body` throws, they are undone: a failed
/// request has used up nothing.
package protocol RecordStore: Sendable {
    func transact<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R

    /// The same for a body that mostly needs the answer to `question`. A store may run several such
    /// bodies in one transaction. If that transaction fails, `body` may run again.
    func transact<R: Sendable>(
        _ question: FirstQuestion,
        _ body: @escaping @Sendable (
            any AuthorityTransaction, FirstLook
        ) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R

    /// The same as `read`, for a single statement, which is consistent by itself.
    func glance<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R

    /// Reads one consistent snapshot. Writes nothing.
    func read<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R
}

extension RecordStore {
    package func glance<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try await read(body)
    }

    package func transact<R: Sendable>(
        _ question: FirstQuestion,
        _ body: @escaping @Sendable (
            any AuthorityTransaction, FirstLook
        ) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try await alone(question, body)
    }

    /// The same without `RequestGroup`, which shares the first reads.
    package func alone<R: Sendable>(
        _ question: FirstQuestion,
        _ body: @escaping @Sendable (
            any AuthorityTransaction, FirstLook
        ) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        try await transact { transaction throws(AuthorityError) in
            let looks = try transaction.firstLooks([question])
            return try body(transaction, looks[0])
        }
    }
}

/// All tables within one transaction. Do not use it outside the closure that received it.
package protocol AuthorityTransaction: UserTable, SessionTable, BoardTable, ClaimTable,
    ReplyTable, JobTable, PersonLoginTable, AuditTable, AttemptTable, KeyTable, TimelineTable,
    InstallationTable, RoleTable, IdentityTable, ReportTable, GapTable, AlertTable,
    ConsumerTable, NamedRequestTable, SensorTable, PasskeyTable, LoginRequestTable, PushTable,
    ReplacementTable, CommandTable, ShareTable, ClaimCodeTable, PreparedClaimTable,
    ConfigurationTable {}

package protocol UserTable {
    func user(_ id: UserID) throws(AuthorityError) -> UserRecord?
    /// Finds the user by `Username.key`: names that look the same are the same.
    func user(named name: String) throws(AuthorityError) -> UserRecord?
    func user(email: EmailAddress) throws(AuthorityError) -> UserRecord?
    func user(anonymousHash: [UInt8]) throws(AuthorityError) -> UserRecord?
    func users() throws(AuthorityError) -> [UserRecord]
    /// Sorted by `Username.key`.
    func users(_ slice: ListSlice) throws(AuthorityError) -> [UserRecord]
    /// Returns false if the name or the e-mail address is taken.
    func insert(_ user: UserRecord) throws(AuthorityError) -> Bool
    /// Writes name, e-mail address, fields, anonymous hash and `updatedAt`. Fails if the name or
    /// the e-mail address is taken, so ask before.
    func saveProfile(_ user: UserRecord) throws(AuthorityError)
    func setPasswordHash(_ hash: String, of user: UserID) throws(AuthorityError)
    func setEnabled(_ isEnabled: Bool, of user: UserID) throws(AuthorityError)
    func setMayClaim(_ mayClaim: Bool, of user: UserID) throws(AuthorityError)
}

/// Selects the sessions of a list.
package enum SessionChoice: Sendable {
    /// Pending and active sessions, and ended ones whose end the board has not yet confirmed.
    case current
    /// The restricted sessions among `current`.
    case restricted
    /// The sessions among `current` that nobody ended. An expired one can still be renewed.
    case notEnded
    /// The restricted sessions among `notEnded`.
    case restrictedNotEnded
    /// The active sessions among `restricted`.
    case activeRestricted
}

package protocol SessionTable {
    func session(_ id: ObjectID) throws(AuthorityError) -> SessionRecord?
    /// A session with its user, in one query.
    func held(_ session: ObjectID) throws(AuthorityError) -> UserSession?
    func held(tokenHash: [UInt8]) throws(AuthorityError) -> UserSession?
    /// The active session that lives on a board.
    func activeSession(on board: InstallationID) throws(AuthorityError) -> SessionRecord?
    /// The active sessions of a user that name an installation, on a board or not. There are
    /// several if one lives on the board and another does not.
    func activeSessions(
        of user: UserID, on installation: InstallationID
    ) throws(AuthorityError) -> [SessionRecord]
    /// The newest ended session of a board whose end the board has not yet confirmed.
    func departing(on board: InstallationID) throws(AuthorityError) -> SessionRecord?
    /// The last session that lived on a board and has ended, if it is still kept.
    func lastEnded(on board: InstallationID) throws(AuthorityError) -> SessionRecord?
    /// The newest first. Nil: the sessions of all users.
    func sessions(
        of user: UserID?, _ choice: SessionChoice, _ slice: ListSlice
    ) throws(AuthorityError) -> [SessionRecord]
    /// Every pending, active and renewable session of a user, the oldest first. The list is
    /// complete, because callers end all of them.
    func ownSessions(of user: UserID) throws(AuthorityError) -> [SessionRecord]
    /// The pending and active ones that live on no board, even if they name an installation.
    func sessionsOffBoards(of user: UserID) throws(AuthorityError) -> [SessionRecord]
    /// Active sessions that passed one of their limits; at most `limit`.
    func expiredSessions(
        at now: Timestamp, madeBefore: Timestamp?, idleSince: Timestamp?, limit: Int
    ) throws(AuthorityError) -> [SessionRecord]
    /// Ended sessions that waited long enough for a confirmation; at most `limit`.
    func overdueEndNotices(
        at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> [SessionRecord]
    /// Deletes sessions that ended before `time` and wait for no confirmation, with their families
    /// and claims. Deletes at most `limit` and returns how many. A used claim secret stays known
    /// for ever.
    func deleteSessions(endedBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int
    /// Writes only the time of the last use.
    func noteUse(of session: ObjectID, at now: Timestamp) throws(AuthorityError)
    /// Inserts or replaces all but the confirmation.
    func save(_ session: SessionRecord, at now: Timestamp) throws(AuthorityError)
    /// Writes only the time of the last confirmation.
    func noteConfirmation(of session: ObjectID, at now: Timestamp) throws(AuthorityError)

    func family(_ id: RefreshFamilyID) throws(AuthorityError) -> RefreshFamily?
    func save(_ family: RefreshFamily) throws(AuthorityError)
}

package protocol BoardTable {
    func board(_ id: InstallationID) throws(AuthorityError) -> BoardRecord?
    /// The keys that may have sealed a board's messages: the key of the known board, and the key of
    /// its open claim.
    func deviceKeys(of board: InstallationID) throws(AuthorityError) -> [[UInt8]]
    /// The boards that were not released, sorted by name, starting after `last`. At most `limit`.
    /// Nil owner: the boards of all users.
    func boards(
        of owner: UserID?, after last: BoardRecord?, limit: Int
    ) throws(AuthorityError) -> [BoardRecord]
    /// One page of boards that were not released: those that match the query, in its order, after
    /// its place. Nil owner: the boards of all users.
    func boards(
        _ query: BoardQuery, of owner: UserID?, _ times: AttentionTimes
    ) throws(AuthorityError) -> [RankedBoard]
    /// The numbers of the boards that match the query, whatever its place and limit.
    func boardCounts(
        _ query: BoardQuery, of owner: UserID?, _ times: AttentionTimes
    ) throws(AuthorityError) -> BoardCounts
    /// Each label with the number of boards that have it.
    func boardLabels(of owner: UserID?) throws(AuthorityError) -> [BoardLabel: Int]
    /// The number of boards with a live session, counted up to `limit`.
    func boardsInSession(atMost limit: Int) throws(AuthorityError) -> Int
    func save(_ board: BoardRecord) throws(AuthorityError)
    /// The last status that the broker had for a board, known or with an open claim.
    func status(of board: InstallationID) throws(AuthorityError) -> BoardStatus?
    func setStatus(
        _ status: BoardStatus, of board: InstallationID
    ) throws(AuthorityError)

    /// The password of the board's client at the broker. Nil if it has no client.
    func brokerPassword(of board: InstallationID) throws(AuthorityError) -> SecretBytes?
    /// Nil deletes the password.
    func setBrokerPassword(
        _ password: SecretBytes?, of board: InstallationID
    ) throws(AuthorityError)
    /// Every board with a client at the broker.
    func boardsWithLogin() throws(AuthorityError) -> [InstallationID]
    /// For each origin of records: the board's present owner, and the session if it lives or
    /// lived on that board. An unknown board is absent. One query for all.
    func owners(
        of origins: [RecordOrigin]
    ) throws(AuthorityError) -> [RecordOrigin: RecordOwners]

    /// Stores and returns max(last + 1, milliseconds since the epoch). Each pair of seal key and
    /// board has its own counter.
    func nextSequence(
        sealKey: KeyID, board: InstallationID, at now: Timestamp
    ) throws(AuthorityError) -> Int64
}

package protocol ClaimTable {
    func claim(_ id: MessageID) throws(AuthorityError) -> ClaimRecord?
    func openClaim(on board: InstallationID) throws(AuthorityError) -> ClaimRecord?
    /// The newest claim for this session.
    func claim(ofSession session: ObjectID) throws(AuthorityError) -> ClaimRecord?
    /// Returns false if another claim is open on that board: of two at once, one wins.
    func insert(_ claim: ClaimRecord) throws(AuthorityError) -> Bool
    func update(_ claim: ClaimRecord) throws(AuthorityError)
    /// Whether a claim with this secret was ever accepted.
    func isUsed(secretHash: [UInt8]) throws(AuthorityError) -> Bool
    /// Boards whose inbox may hold a retained message of this authority, wanted or not. Either a
    /// claim of the board has not expired, or a session of it ended after `ended`. Sorted, starting
    /// after `last`; at most `limit`.
    func boardsWithInbox(
        at now: Timestamp, endedAfter ended: Timestamp, after last: InstallationID?, limit: Int
    ) throws(AuthorityError) -> [InstallationID]
    /// Claims open at `now` that this user made or that are on this user's boards, the newest
    /// first. Nil: the claims of all users. At most `limit`.
    func openClaims(
        of user: UserID?, at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> [ClaimRecord]
    /// Open claims that expired before `time`; at most `limit`.
    func openClaims(
        expiredBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> [ClaimRecord]
}

package protocol ReplyTable {
    func reply(
        to request: MessageID, of board: InstallationID
    ) throws(AuthorityError) -> [UInt8]?
    /// For each question: the stored reply and the session of the token. One query for all.
    func firstLooks(_ questions: [FirstQuestion]) throws(AuthorityError) -> [FirstLook]
    func save(_ reply: ReplyRecord) throws(AuthorityError)
    /// Sets the expiry of a reply that had none to `time`.
    func expireReply(
        to request: MessageID, of board: InstallationID, at time: Timestamp
    ) throws(AuthorityError)
    /// Deletes at most `limit` and returns how many.
    func deleteReplies(expiredBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int
    /// Deletes all but the newest replies of a board.
    func trimReplies(
        of board: InstallationID, toNewest count: Int
    ) throws(AuthorityError)
}

package protocol JobTable {
    func add(_ job: BrokerJob) throws(AuthorityError)
    func jobs(in line: String) throws(AuthorityError) -> [NumberedJob]
    /// Returns false if the job was already removed.
    func removeJob(_ number: Int64) throws(AuthorityError) -> Bool
    func linesWithJobs() throws(AuthorityError) -> [String]
    /// The queues that this transaction added jobs to.
    var jobLines: [String] { get }
}

package protocol PersonLoginTable {
    func personLogin(_ session: ObjectID) throws(AuthorityError) -> PersonLogin?
    func personLogins(of user: UserID) throws(AuthorityError) -> [PersonLogin]
    /// The sessions of all logins.
    func sessionsWithPersonLogin() throws(AuthorityError) -> [ObjectID]
    func save(_ login: PersonLogin) throws(AuthorityError)
    func deletePersonLogin(_ session: ObjectID) throws(AuthorityError)
}

package protocol AuditTable {
    func append(_ entry: AuditEntry) throws(AuthorityError)
    /// The newest first.
    func entries(_ query: AuditQuery) throws(AuthorityError) -> [AuditEntry]
    /// Entries with a number above `number`, the oldest first; at most `limit`.
    func entries(
        after number: Int64, limit: Int
    ) throws(AuthorityError) -> [AuditEntry]
    /// The number of the newest entry ever appended, or 0.
    func newestEntry() throws(AuthorityError) -> Int64
    /// Deletes at most `limit` and returns how many.
    func deleteEntries(before time: Timestamp, limit: Int) throws(AuthorityError) -> Int
}

package protocol AttemptTable {
    /// The time of the newest failure but `skipped` under `key` since `since`. Nil if there are no
    /// more than `skipped`.
    func failure(
        _ key: String, skipping skipped: Int, since: Timestamp
    ) throws(AuthorityError) -> Timestamp?
    func countFailure(_ key: String, at now: Timestamp) throws(AuthorityError)
    func clearFailures(_ key: String) throws(AuthorityError)
    /// Removes the newest failure under `key`.
    func forgiveFailure(_ key: String) throws(AuthorityError)
    func deleteFailures(before time: Timestamp) throws(AuthorityError)
}

/// A key of the authority. The store keeps the private half encrypted.
package struct KeyRecord: Sendable {
    package enum Kind: String, Sendable {
        case seal
        case signing
        case tokenHash = "token-hash"
        case refresh
        /// Signs what is sent to browsers' push services. Made when it is first needed.
        case push
        /// The authority's own password at its broker. It is not a key.
        case brokerPassword = "broker-password"
    }

    package let kind: Kind
    package let name: String
    /// Empty for a secret that has no public half.
    package let publicKey: [UInt8]
    /// Empty for a retired key, so that it signs nothing any more.
    package let privateKey: SecretBytes
    package let createdAt: Timestamp
    /// When another key of its kind replaced it. Nil for the key in use.
    package let retiredAt: Timestamp?

    package init(
        kind: Kind, name: String, publicKey: [UInt8], privateKey: SecretBytes,
        createdAt: Timestamp, retiredAt: Timestamp? = nil
    ) {
        self.kind = kind
        self.name = name
        self.publicKey = publicKey
        self.privateKey = privateKey
        self.createdAt = createdAt
        self.retiredAt = retiredAt
    }
}

package protocol KeyTable {
    /// For each kind: the key in use first, then the retired keys, the last retired first.
    func keys() throws(AuthorityError) -> [KeyRecord]
    func insert(_ key: KeyRecord) throws(AuthorityError)
    /// Destroys the private half of the signing key in use. No key signs until one is inserted.
    /// Keeps the last `count` retired keys.
    func retireSigningKey(at time: Timestamp, keeping count: Int) throws(AuthorityError)
}
