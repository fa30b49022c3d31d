package import Sessions
package import Wire

/// What people and their programs may ask of an authority, whatever way they come by.
///
/// Every call but `login` names its caller, whom only a live session token makes. Ownership
/// is part of each query: an id alone is no authority.
package protocol AuthorityFrontend: ParseObjects, IdentityFrontend {
    var info: AuthorityInfo { get }

    /// Opens an unrestricted session. Unknown users and wrong passwords are one error (101)
    /// and take the same time; too many tries are 155.
    func login(_ attempt: LoginAttempt) async throws(AuthorityError) -> LoggedIn
    /// Makes a user and opens the first session; 119 unless the authority lets people sign up.
    /// Whom an anonymous id or an id token shows to be known is logged in, as he is.
    func signUp(_ attempt: SignUp) async throws(AuthorityError) -> LoggedIn
    /// The person behind a token, or why there is nobody. Counts as use of the session.
    ///
    /// The session may be a restricted one that lives on no board: each call below says
    /// what such a one may do, and refuses it (119) where nothing is said.
    func holder(of token: SessionToken) async throws(AuthorityError) -> TokenHolder
    /// Ends the caller's own session, a restricted one too.
    func logout(_ caller: Caller) async throws(AuthorityError)
    /// Replaces the caller's session by a new one, `createdWith` `upgrade`; the old one ends.
    func upgrade(_ caller: Caller) async throws(AuthorityError) -> LoggedIn

    /// Starts to provision a board: seals, publishes and returns; `claim` tells how it goes.
    func claim(_ order: ClaimOrder, by caller: Caller) async throws(AuthorityError) -> Claim
    /// One's own claim, or one on a board of one's own; any for an administrator; 101 for any
    /// other. So does `endClaim` have it.
    func claim(_ id: MessageID, by caller: Caller) async throws(AuthorityError) -> Claim
    /// The claims that wait for their boards: one's own and those on one's own boards, the
    /// newest first; all of them for an administrator who asks for `everyone`. At most 1000.
    func openClaims(
        by caller: Caller, everyone: Bool
    ) async throws(AuthorityError) -> [OpenClaim]
    /// Takes a claim back that waits for its board; nothing where it waits no more. Says what
    /// `revoke` says.
    @discardableResult
    func endClaim(_ id: MessageID, by caller: Caller) async throws(AuthorityError) -> Bool
    /// Waits no longer for a board to answer a revocation: its broker login ends, and so does
    /// a claim that is open. For a board that has lost its login and so can never answer. One's
    /// own board, or any for an administrator (101). Says what `revoke` says.
    @discardableResult
    func forgetRevocation(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> Bool

    /// One's own boards; all of them for an administrator who asks for `everyone`.
    func boards(by caller: Caller, everyone: Bool) async throws(AuthorityError) -> [Board]
    /// One board: the caller's, or anyone's for an administrator; 101 for any other, there or
    /// not. So do `rename` and `timeline` have it.
    func board(
        _ id: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> BoardDetail
    /// The name holds until the board is claimed again, under the name it has itself.
    func rename(
        _ board: InstallationID, to name: BoardName, by caller: Caller
    ) async throws(AuthorityError) -> Board
    /// What befell a board's sessions, the newest first.
    func timeline(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> [TimelineEntry]
    /// Lets go of a board: its session ends and another person may claim it. Says what `revoke`
    /// says.
    @discardableResult
    func release(_ board: InstallationID, by caller: Caller) async throws(AuthorityError) -> Bool
    /// Says whether a write would leave a board, and what decides: one's own board, or any for
    /// an administrator. A restricted session finds no board (101). Changes nothing.
    func explain(
        _ order: ExplainOrder, by caller: Caller
    ) async throws(AuthorityError) -> Explanation

    /// One's own; a restricted session sees the restricted ones only.
    func sessions(
        _ slice: ListSlice, by caller: Caller, everyone: Bool
    ) async throws(AuthorityError) -> [SessionView]
    /// A restricted session finds (101) no unrestricted one, its owner's included.
    func session(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) -> SessionView
    /// What was decided stands when it returns. False: the broker could not be told yet, being
    /// away or another authority at work on that board; it is told as soon as it can be.
    @discardableResult
    func revoke(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) -> Bool
    /// Makes a restricted session for a device, whatever is asked; its token is in this answer
    /// and in no other.
    func makeSession(
        _ draft: SessionDraft, by caller: Caller
    ) async throws(AuthorityError) -> LoggedIn
    /// Sets the installation id if there was none, and custom fields. A restricted session may
    /// set its own first installation id and nothing else (119).
    func update(
        _ id: ObjectID, with draft: SessionDraft, by caller: Caller
    ) async throws(AuthorityError) -> SessionView
    /// Moves a session's end to `span` from now: 5 minutes to 1 year, and never past its
    /// absolute limit (142). Its board hears of it.
    func extend(
        _ id: ObjectID, by span: Duration, by caller: Caller
    ) async throws(AuthorityError) -> SessionView
    /// Ends every session of a user but the one that asks, those on boards included; one's
    /// own, or anyone's for an administrator; those on boards stay if `keepsBoards`. Returns
    /// how many ended.
    func revokeAll(
        of username: String, keepsBoards: Bool, by caller: Caller
    ) async throws(AuthorityError) -> Int

    /// Administrators only, as are `users`, `addUser` and `audit`. 101 where there is none.
    func user(_ id: UserID, by caller: Caller) async throws(AuthorityError) -> UserView
    /// All of them without a slice.
    func users(
        _ slice: ListSlice?, by caller: Caller
    ) async throws(AuthorityError) -> [UserView]
    func addUser(_ user: NewUser, by caller: Caller) async throws(AuthorityError) -> UserView
    /// Sets a password: one's own, or anyone's for an administrator. Every session of that user
    /// ends, but the one that asks; those on boards stay if `keepsBoards`.
    func setPassword(
        _ change: PasswordChange, by caller: Caller
    ) async throws(AuthorityError)
    /// Administrators only. A disabled user cannot log in, and every session of his ends.
    func change(
        _ user: String, _ change: UserChange, by caller: Caller
    ) async throws(AuthorityError) -> UserView
    func audit(_ query: AuditQuery, by caller: Caller) async throws(AuthorityError) -> [AuditEntry]

    /// A login to the boards' broker that may read data and status of one's own boards, and
    /// lives as long as the caller's session.
    func brokerLogin(by caller: Caller) async throws(AuthorityError) -> BrokerLogin
}

extension AuthorityFrontend {
    /// The person behind a token; 209 if there is nobody.
    package func caller(_ token: SessionToken) async throws(AuthorityError) -> Caller {
        guard case .caller(let caller) = try await holder(of: token) else { throw .sessionOver }
        return caller
    }

    package func sessions(
        by caller: Caller, everyone: Bool
    ) async throws(AuthorityError) -> [SessionView] {
        try await sessions(.first, by: caller, everyone: everyone)
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

/// Why a request was not done.
package enum AuthorityError: Error, Equatable, Sendable {
    /// Understood and refused; the caller can change something.
    case refused(Refusal)
    /// A part of the authority failed; the caller can only try again. The layer is `store`,
    /// `mqtt`, `broker login` and the like.
    case failed(layer: String, text: String)
}

/// What anyone may know of an authority.
package struct AuthorityInfo: Equatable, Sendable {
    package let name: String
    package let applicationID: String
    package let publicURL: String
    package let topicRoot: TopicRoot
    package let version: String
    /// The longest that a session may last; nil is no limit.
    package let longestSession: Duration?

    package init(
        name: String, applicationID: String, publicURL: String, topicRoot: TopicRoot,
        version: String, longestSession: Duration? = nil
    ) {
        self.longestSession = longestSession
        self.name = name
        self.applicationID = applicationID
        self.publicURL = publicURL
        self.topicRoot = topicRoot
        self.version = version
    }
}
