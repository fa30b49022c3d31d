package import Sessions
package import Wire

/// Where everything stands that correctness needs: nothing of it lives in a process.
///
/// Each `transact` is one write transaction, serialized with all others that touch the same
/// rows. It is kept when `body` returns, durably, and undone when it throws: a request that
/// failed has consumed nothing.
package protocol AuthorityStore: Sendable {
    func transact<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R

    /// The same for a body that needs little more than a first look. A store may do several of
    /// them in one transaction; `body` may run again after one that failed.
    func transact<R: Sendable>(
        _ question: FirstQuestion,
        _ body: @escaping @Sendable (
            any AuthorityTransaction, FirstLook
        ) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R

    /// The same as `read`, for a look of a single statement, which is a view by itself.
    func glance<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R

    /// One consistent view, without writing.
    func read<R: Sendable>(
        _ body: @escaping @Sendable (any AuthorityTransaction) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R
}

extension AuthorityStore {
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

    /// The same in a transaction that no other request shares.
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

/// The facts and records of one transaction. It is of no use outside the closure it came to.
package protocol AuthorityTransaction: UserTable, SessionTable, BoardTable, ClaimTable,
    ReplyTable, ChoreTable, PersonLoginTable, AuditTable, AttemptTable, KeyTable, TimelineTable,
    InstallationTable, RoleTable, IdentityTable, ReportTable, GapTable {}

package protocol UserTable {
    func user(_ id: UserID) throws(AuthorityError) -> UserRecord?
    /// Upper and lower case are one name.
    func user(named name: String) throws(AuthorityError) -> UserRecord?
    func user(anonymousHash: [UInt8]) throws(AuthorityError) -> UserRecord?
    func users() throws(AuthorityError) -> [UserRecord]
    /// By name, upper and lower case being one.
    func users(_ slice: ListSlice) throws(AuthorityError) -> [UserRecord]
    /// False if the name is taken.
    func insert(_ user: UserRecord) throws(AuthorityError) -> Bool
    func setPasswordHash(_ hash: String, of user: UserID) throws(AuthorityError)
    func setEnabled(_ isEnabled: Bool, of user: UserID) throws(AuthorityError)
    func setMayClaim(_ mayClaim: Bool, of user: UserID) throws(AuthorityError)
}

/// Which sessions a list is of.
package enum SessionChoice: Sendable {
    /// Pending and active ones, and those that ended and have not been taken leave of.
    case current
    /// The restricted ones of these.
    case restricted
    /// The active ones of these.
    case activeRestricted
}

package protocol SessionTable {
    func session(_ id: ObjectID) throws(AuthorityError) -> SessionRecord?
    /// A session with its user, in one trip.
    func held(_ session: ObjectID) throws(AuthorityError) -> HeldSession?
    func held(tokenHash: [UInt8]) throws(AuthorityError) -> HeldSession?
    /// The session that lives on a board.
    func activeSession(on board: InstallationID) throws(AuthorityError) -> SessionRecord?
    /// A person's live session that names an installation, on a board or not; several where
    /// one lives on the board and another does not.
    func activeSessions(
        of user: UserID, on installation: InstallationID
    ) throws(AuthorityError) -> [SessionRecord]
    /// The newest session of a board that is over and not yet taken leave of.
    func departing(on board: InstallationID) throws(AuthorityError) -> SessionRecord?
    /// The newest first; nil: of anybody.
    func sessions(
        of user: UserID?, _ choice: SessionChoice, _ slice: ListSlice
    ) throws(AuthorityError) -> [SessionRecord]
    /// Every pending and active session of a user, the oldest first: whoever ends them must
    /// find them all.
    func ownSessions(of user: UserID) throws(AuthorityError) -> [SessionRecord]
    /// Those of them that live on no board, whatever number does.
    func sessionsOffBoards(of user: UserID) throws(AuthorityError) -> [SessionRecord]
    /// Active sessions of which a limit has passed; at most `limit`.
    func expiredSessions(
        at now: Timestamp, madeBefore: Timestamp?, idleSince: Timestamp?, limit: Int
    ) throws(AuthorityError) -> [SessionRecord]
    /// Ended sessions whose farewell is over; at most `limit`.
    func overdueFarewells(
        at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> [SessionRecord]
    /// Deletes sessions that ended before `time` and have been taken leave of, with their
    /// families and claims; at most `limit`, and says how many. A claim secret that has served
    /// is known for ever.
    func deleteSessions(endedBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int
    /// Only the time of its last use.
    func noteUse(of session: ObjectID, at now: Timestamp) throws(AuthorityError)
    /// Inserts or replaces.
    func save(_ session: SessionRecord, at now: Timestamp) throws(AuthorityError)

    func family(_ id: RefreshFamilyID) throws(AuthorityError) -> RefreshFamily?
    func save(_ family: RefreshFamily) throws(AuthorityError)
}

package protocol BoardTable {
    func board(_ id: InstallationID) throws(AuthorityError) -> BoardRecord?
    /// What a board's messages may be sealed with: the key of the board as it is known, and
    /// that of its open claim.
    func deviceKeys(of board: InstallationID) throws(AuthorityError) -> [[UInt8]]
    /// Those that were not released, by their names, and those after `last`; nil: of anybody.
    /// At most `limit`.
    func boards(
        of owner: UserID?, after last: BoardRecord?, limit: Int
    ) throws(AuthorityError) -> [BoardRecord]
    /// How many boards hold a session that lives, counted up to `limit`.
    func boardsInSession(atMost limit: Int) throws(AuthorityError) -> Int
    func save(_ board: BoardRecord) throws(AuthorityError)
    /// The last status that the broker had of a board, known or about to be.
    func status(of board: InstallationID) throws(AuthorityError) -> BoardStatus?
    func setStatus(
        _ status: BoardStatus, of board: InstallationID
    ) throws(AuthorityError)

    /// The password that the board's client at the broker has, if it has a client.
    func brokerPassword(of board: InstallationID) throws(AuthorityError) -> SecretBytes?
    /// Nil forgets it.
    func setBrokerPassword(
        _ password: SecretBytes?, of board: InstallationID
    ) throws(AuthorityError)
    /// Every board with a client at the broker.
    func boardsWithLogin() throws(AuthorityError) -> [InstallationID]

    /// Counts up and returns max(last + 1, milliseconds since the epoch), for each seal key
    /// and board.
    func nextSequence(
        sealKey: KeyID, board: InstallationID, at now: Timestamp
    ) throws(AuthorityError) -> Int64
}

package protocol ClaimTable {
    func claim(_ id: MessageID) throws(AuthorityError) -> ClaimRecord?
    func openClaim(on board: InstallationID) throws(AuthorityError) -> ClaimRecord?
    /// The newest claim that made or would have made this session.
    func claim(ofSession session: ObjectID) throws(AuthorityError) -> ClaimRecord?
    /// False if another is open on that board: of two at once one wins.
    func insert(_ claim: ClaimRecord) throws(AuthorityError) -> Bool
    func update(_ claim: ClaimRecord) throws(AuthorityError)
    /// Whether a claim with this secret was ever accepted.
    func isUsed(secretHash: [UInt8]) throws(AuthorityError) -> Bool
    /// Boards whose inbox may hold a retained message of ours, wanted or not: a claim of theirs
    /// has not expired, or a session ended after `ended`. In their order, those after `last`; at
    /// most `limit`.
    func boardsWithInbox(
        at now: Timestamp, endedAfter ended: Timestamp, after last: InstallationID?, limit: Int
    ) throws(AuthorityError) -> [InstallationID]
    /// Claims open at `now` that a user made or that are on boards of this user, the newest
    /// first; nil: of anybody. At most `limit`.
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
    /// The same for each question, and the session of its token, all at once.
    func firstLooks(_ questions: [FirstQuestion]) throws(AuthorityError) -> [FirstLook]
    func save(_ reply: ReplyRecord) throws(AuthorityError)
    /// Lets a reply that was kept without end expire at `time`.
    func expireReply(
        to request: MessageID, of board: InstallationID, at time: Timestamp
    ) throws(AuthorityError)
    /// At most `limit`; says how many.
    func deleteReplies(expiredBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int
    /// Leaves a board its newest replies.
    func trimReplies(
        of board: InstallationID, toNewest count: Int
    ) throws(AuthorityError)
}

package protocol ChoreTable {
    func add(_ chore: Chore) throws(AuthorityError)
    func chores(in line: String) throws(AuthorityError) -> [NumberedChore]
    /// False if it was not there any more.
    func removeChore(_ number: Int64) throws(AuthorityError) -> Bool
    func linesWithChores() throws(AuthorityError) -> [String]
    /// The lines of the chores that this transaction has added.
    var choreLines: [String] { get }
}

package protocol PersonLoginTable {
    func personLogin(_ session: ObjectID) throws(AuthorityError) -> PersonLogin?
    func personLogins(of user: UserID) throws(AuthorityError) -> [PersonLogin]
    /// The session of every login there is.
    func sessionsWithPersonLogin() throws(AuthorityError) -> [ObjectID]
    func save(_ login: PersonLogin) throws(AuthorityError)
    func deletePersonLogin(_ session: ObjectID) throws(AuthorityError)
}

package protocol AuditTable {
    func append(_ entry: AuditEntry) throws(AuthorityError)
    /// The newest first.
    func entries(_ query: AuditQuery) throws(AuthorityError) -> [AuditEntry]
    /// Those with a number above `number`, the oldest first; at most `limit`.
    func entries(
        after number: Int64, limit: Int
    ) throws(AuthorityError) -> [AuditEntry]
    /// The number of the newest entry ever appended, or 0.
    func newestEntry() throws(AuthorityError) -> Int64
    /// At most `limit`; says how many.
    func deleteEntries(before time: Timestamp, limit: Int) throws(AuthorityError) -> Int
}

package protocol AttemptTable {
    /// Failures counted under `key` in the window that `now` lies in.
    func failures(_ key: String, since: Timestamp) throws(AuthorityError) -> Int
    func countFailure(_ key: String, at now: Timestamp) throws(AuthorityError)
    func clearFailures(_ key: String) throws(AuthorityError)
    /// Takes the newest one under `key` back.
    func forgiveFailure(_ key: String) throws(AuthorityError)
    func deleteFailures(before time: Timestamp) throws(AuthorityError)
}

/// A key of the authority; the private half is kept wrapped.
package struct KeyRecord: Sendable {
    package enum Kind: String, Sendable {
        case seal
        case signing
        case tokenHash = "token-hash"
        case refresh
        /// Not a key but the authority's own password at its broker.
        case brokerPassword = "broker-password"
    }

    package let kind: Kind
    package let name: String
    /// Empty for a secret without a public half.
    package let publicKey: [UInt8]
    /// Empty once the key is retired: nothing is signed with it again.
    package let privateKey: SecretBytes
    package let createdAt: Timestamp
    /// Since when another of its kind is in use; nil for the one in use.
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
    /// The one in use of each kind first, then the retired ones, the last retired first.
    func keys() throws(AuthorityError) -> [KeyRecord]
    func insert(_ key: KeyRecord) throws(AuthorityError)
    /// Destroys the private half of the signing key in use; none is until one is inserted. Of
    /// the retired ones the last `count` stay.
    func retireSigningKey(at time: Timestamp, keeping count: Int) throws(AuthorityError)
}
