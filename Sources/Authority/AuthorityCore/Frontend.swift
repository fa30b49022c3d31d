package import Sessions
package import Wire

/// All requests that people and their programs may send to an authority, over any interface.
/// `Authority` implements it.
///
/// All calls except `login`, `signUp` and `holder` take their caller. A `Caller`
/// comes from a live session token or the master key. Each query checks ownership: knowing an id
/// gives no rights.
package protocol AuthorityFrontend: ParseObjects, IdentityFrontend, PasskeyFrontend,
    LoginRequestFrontend, CommandFrontend, ShareFrontend, ClaimCodeFrontend, PreparedClaimFrontend,
    ConfigurationFrontend
{
    var info: AuthorityInfo { get }

    /// The same frontend for a request that has an id. The next call that changes something spends
    /// the id together with its effect. Throws 159 if the request took effect within the last five
    /// minutes, and so does that call; 155 for too many ids of one holder. A call that throws
    /// spends nothing.
    func once(_ request: NamedRequest) async throws(AuthorityError) -> any AuthorityFrontend

    /// Opens an unrestricted session. An unknown user and a wrong password give the same error
    /// (101) in the same time. Too many tries give 155.
    func login(_ attempt: LoginAttempt) async throws(AuthorityError) -> LoggedIn
    /// Creates a user and opens the first session; 119 unless people may sign up. Logs in the
    /// existing user that the anonymous id or the id token identifies.
    func signUp(_ attempt: SignUp) async throws(AuthorityError) -> LoggedIn
    /// Finds the holder of a token, or the reason why it has none. Counts as use of the session.
    ///
    /// The session may be a restricted one that lives on no board. Each call below says what a
    /// restricted session may do. If it says nothing, such a session gets 119.
    func holder(of token: SessionToken) async throws(AuthorityError) -> TokenHolder
    /// Ends the caller's own session, restricted or not.
    func logout(_ caller: Caller) async throws(AuthorityError)
    /// Replaces the caller's session with a new one, `createdWith` `upgrade`. The old session ends.
    func upgrade(_ caller: Caller) async throws(AuthorityError) -> LoggedIn

    /// Starts to claim a board: seals the provisioning, publishes it and returns. `claim(_:by:)`
    /// reads the state later.
    func claim(_ order: ClaimOrder, by caller: Caller) async throws(AuthorityError) -> Claim
    /// One claim: the caller's own, or one on the caller's board; any claim for an administrator.
    /// Otherwise 101. `endClaim` has the same rule.
    func claim(_ id: MessageID, by caller: Caller) async throws(AuthorityError) -> Claim
    /// The claims that wait for their boards, the newest first: the caller's own and those on the
    /// caller's boards. All claims for an administrator who asks for `everyone`. At most 1000.
    func openClaims(
        by caller: Caller, everyone: Bool
    ) async throws(AuthorityError) -> [OpenClaim]
    /// Cancels a claim that waits for its board; does nothing if it waits no more. Returns the same
    /// as `revoke`.
    @discardableResult
    func endClaim(_ id: MessageID, by caller: Caller) async throws(AuthorityError) -> Bool
    /// Stops waiting for a board to answer a revocation. Ends its broker login and its open claim.
    /// It is for a board that has lost its login and so can never answer. The caller's own board,
    /// or any board for an administrator; otherwise 101. Returns the same as `revoke`.
    @discardableResult
    func forgetRevocation(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> Bool

    /// The caller's own boards. All boards for an administrator who asks for `everyone`.
    func boards(by caller: Caller, everyone: Bool) async throws(AuthorityError) -> [Board]
    /// One page of the same boards.
    func boards(_ query: BoardQuery, by caller: Caller) async throws(AuthorityError) -> BoardPage
    /// One board: the caller's, or any board for an administrator. Any other gives 101, whether it
    /// exists or not. `change` and `timeline` have the same rule.
    func board(
        _ id: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> BoardDetail
    /// Renames a board. The next claim of the board sets the name from the claim URL again.
    /// Changes all or nothing; 142 for more labels than a board may have.
    func change(
        _ board: InstallationID, _ change: BoardChange, by caller: Caller
    ) async throws(AuthorityError) -> Board
    /// Gives a board whose session expired a new one from afar: the same user, scope and fields.
    /// Returns the renewal, which waits for the board as a claim does. The caller's own board, or
    /// any board for an administrator; otherwise 101. 119 says what helps instead.
    func renew(
        _ board: InstallationID, _ duration: Duration?, by caller: Caller
    ) async throws(AuthorityError) -> Claim
    /// The events of a board's sessions, the newest first.
    func timeline(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> [TimelineEntry]
    /// Releases a board: its session ends, and another person may claim it. Returns the same as
    /// `revoke`.
    @discardableResult
    func release(_ board: InstallationID, by caller: Caller) async throws(AuthorityError) -> Bool
    /// The releases of a board and of those whose place it took, with their records, to delete
    /// them before `release`. Throws what `release` would throw, and changes nothing.
    func dataReleases(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> [DataRelease]
    /// Gives the place of `old` to `new`. The caller's own boards, or those of one owner for an
    /// administrator. 119 if the new board has no active session.
    func replace(
        _ old: InstallationID, by new: InstallationID, lastArrived: Int64?, for caller: Caller
    ) async throws(AuthorityError) -> BoardReplacement
    /// Those of these boards that the caller does not have now, at most `FormerBoard.limit`. A
    /// restricted session gets none.
    func formerBoards(
        among boards: [InstallationID], by caller: Caller
    ) async throws(AuthorityError) -> [FormerBoard]
    /// The deletion of the caller's records of a board that the caller does not have any more; 119
    /// if the caller has it. Writes it to the audit log.
    func dataDeletion(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> DataRelease
    /// Explains whether a write would leave a board, and which rule decides. The caller's own
    /// board, or any board for an administrator. A restricted session finds no board (101). Changes
    /// nothing.
    func explain(
        _ order: ExplainOrder, by caller: Caller
    ) async throws(AuthorityError) -> Explanation

    /// The caller's own sessions; all sessions for an administrator who asks for `everyone`. A
    /// restricted session sees only the restricted ones of its user. `withEnded` adds those whose
    /// end the board has not yet confirmed.
    func sessions(
        _ slice: ListSlice, by caller: Caller, everyone: Bool, withEnded: Bool
    ) async throws(AuthorityError) -> [SessionView]
    /// One session. A restricted session finds only restricted sessions of its user; any other
    /// gives 101.
    func session(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) -> SessionView
    /// Ends a session. The session has ended when the call returns. Returns false if the broker
    /// does not know yet, because it is away or another authority works on that board. The worker
    /// then tries again.
    @discardableResult
    func revoke(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) -> Bool
    /// Makes a restricted session for a device, whatever the request asks. Only this answer
    /// contains its token.
    func makeSession(
        _ draft: SessionDraft, by caller: Caller
    ) async throws(AuthorityError) -> LoggedIn
    /// Sets the installation id if there is none, and custom fields. A restricted session may only
    /// set its own first installation id; anything else gives 119.
    func update(
        _ id: ObjectID, with draft: SessionDraft, by caller: Caller
    ) async throws(AuthorityError) -> SessionView
    /// Moves a session's end to `span` from now: 5 minutes to 1 year, and never past its absolute
    /// limit (142). Refuses an earlier end than the present one (142), unless `shortens`. Its board
    /// receives the new end.
    func extend(
        _ id: ObjectID, by span: Duration, shortens: Bool, by caller: Caller
    ) async throws(AuthorityError) -> SessionView
    /// Changes the scope of a session on a board: 119 for any other, as for `topics` that are not
    /// from an administrator. The board receives it, and confirms it.
    func setScope(
        _ scope: ScopeDocument, of id: ObjectID, by caller: Caller
    ) async throws(AuthorityError) -> SessionView
    /// Ends every session of a user except the caller's session. Sessions on boards stay if
    /// `keepsBoards`. The caller's own sessions, or any user's for an administrator. Returns how
    /// many ended.
    func revokeAll(
        of username: String, keepsBoards: Bool, by caller: Caller
    ) async throws(AuthorityError) -> Int

    /// One user; 101 if there is none. Administrators only, as are `users`, `addUser` and `audit`.
    func user(_ id: UserID, by caller: Caller) async throws(AuthorityError) -> UserView
    /// Users: with a slice sorted by name, without a slice all of them.
    func users(
        _ slice: ListSlice?, by caller: Caller
    ) async throws(AuthorityError) -> [UserView]
    func addUser(_ user: NewUser, by caller: Caller) async throws(AuthorityError) -> UserView
    /// Changes name, e-mail, fields and password: the caller's own, or any user's for an
    /// administrator; otherwise 101. 202 or 203 if another user has the name or the e-mail. For a
    /// password see `setPassword`.
    func change(
        _ user: UserID, _ change: ProfileChange, by caller: Caller
    ) async throws(AuthorityError) -> UserView
    /// Sets a password: the caller's own, or any user's for an administrator. Every session of that
    /// user ends, except the caller's session. Sessions on boards stay if `keepsBoards`. 142 for
    /// one's own without the old one, unless the session is a login of the last five minutes.
    func setPassword(
        _ change: PasswordChange, by caller: Caller
    ) async throws(AuthorityError)
    /// Changes a user. Administrators only. A disabled user cannot log in, and all sessions of that
    /// user end.
    func change(
        _ user: String, _ change: UserChange, by caller: Caller
    ) async throws(AuthorityError) -> UserView
    func audit(_ query: AuditQuery, by caller: Caller) async throws(AuthorityError) -> [AuditEntry]

    /// The alerts of the caller's boards, the open ones first. All alerts for an administrator who
    /// asks for `everyone`.
    func alerts(_ query: AlertQuery, by caller: Caller) async throws(AuthorityError) -> [Alert]
    /// Refuses a caller who may not send a test message. Administrators only.
    func checkAlertTest(by caller: Caller) async throws(AuthorityError)

    /// A login to the boards' broker. It may read data and status of the caller's boards, and lives
    /// as long as the caller's session.
    func brokerLogin(by caller: Caller) async throws(AuthorityError) -> BrokerLogin

    /// Makes a consumer: a login at the boards' broker for somebody else's program. It reads the
    /// caller's own boards that the order names, and no others. Only the result has its password.
    func addConsumer(
        _ order: ConsumerOrder, by caller: Caller
    ) async throws(AuthorityError) -> NewConsumer
    /// The caller's own consumers, sorted by name.
    func consumers(by caller: Caller) async throws(AuthorityError) -> [Consumer]
    /// Removes a consumer of the caller, and cuts its connection; 101 if there is none with this
    /// name. Returns the same as `revoke`.
    @discardableResult
    func removeConsumer(
        _ name: ConsumerName, by caller: Caller
    ) async throws(AuthorityError) -> Bool
}

extension AuthorityFrontend {
    /// The caller with this token; 209 if there is none.
    package func caller(_ token: SessionToken) async throws(AuthorityError) -> Caller {
        guard case .caller(let caller) = try await holder(of: token) else { throw .sessionOver }
        return caller
    }

    package func sessions(
        by caller: Caller, everyone: Bool
    ) async throws(AuthorityError) -> [SessionView] {
        try await sessions(.longest, by: caller, everyone: everyone, withEnded: true)
    }

    package func users(by caller: Caller) async throws(AuthorityError) -> [UserView] {
        try await users(nil, by: caller)
    }

    package func revokeAll(
        of username: String, by caller: Caller
    ) async throws(AuthorityError) -> Int {
        try await revokeAll(of: username, keepsBoards: false, by: caller)
    }

    package func setEnabled(
        _ isEnabled: Bool, user: String, by caller: Caller
    ) async throws(AuthorityError) -> UserView {
        try await change(user, UserChange(isEnabled: isEnabled), by: caller)
    }
}

/// Why a request failed.
package enum AuthorityError: Error, Equatable, Sendable {
    /// The authority understood and refused the request; the caller can change something.
    case refused(Refusal)
    /// A part of the authority failed; the caller can only try again. The layer is `store`, `mqtt`,
    /// `broker login` or similar.
    case failed(layer: String, text: String)
}

extension AuthorityError {
    /// The layer of a failure for lack of space on the disk of the store.
    package static let diskFull = "disk full"

    package var isDiskFull: Bool {
        if case .failed(layer: Self.diskFull, _) = self { true } else { false }
    }

    /// For the log: it holds no secret.
    package var words: String {
        switch self {
        case .refused(let refusal): "\(refusal.code) \(refusal.text)"
        case .failed(let layer, let text): "\(layer): \(text)"
        }
    }
}

/// The public facts about an authority.
package struct AuthorityInfo: Equatable, Sendable {
    package let name: String
    package let applicationID: String
    package let publicURL: String
    package let topicRoot: TopicRoot
    package let version: String
    /// The longest life of a session. Nil: no limit.
    package let longestSession: Duration?
    /// How long a session lasts after it was last used. Nil: no limit.
    package let idleSession: Duration?

    package init(
        name: String, applicationID: String, publicURL: String, topicRoot: TopicRoot,
        version: String, longestSession: Duration? = nil, idleSession: Duration? = nil
    ) {
        self.longestSession = longestSession
        self.idleSession = idleSession
        self.name = name
        self.applicationID = applicationID
        self.publicURL = publicURL
        self.topicRoot = topicRoot
        self.version = version
    }
}
