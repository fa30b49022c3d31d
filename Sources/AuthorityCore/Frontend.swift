package import Sessions
package import Wire

/// What people and their programs may ask of an authority, whatever way they come by.
///
/// Every call but `login` names its caller, whom only a live session token makes. Ownership
/// is part of each query: an id alone is no authority.
package protocol AuthorityFrontend: Sendable {
    var info: AuthorityInfo { get }

    /// Opens an unrestricted session. Unknown users and wrong passwords are one error (101)
    /// and take the same time; too many tries are 155.
    func login(_ attempt: LoginAttempt) async throws(AuthorityError) -> LoggedIn
    /// The person behind a token; 209 if its session is over. Counts as use of the session.
    func caller(_ token: SessionToken) async throws(AuthorityError) -> Caller
    func logout(_ caller: Caller) async throws(AuthorityError)

    /// Starts to provision a board: seals, publishes and returns; `claim` tells how it goes.
    func claim(_ order: ClaimOrder, by caller: Caller) async throws(AuthorityError) -> Claim
    func claim(_ id: MessageID, by caller: Caller) async throws(AuthorityError) -> Claim

    /// One's own boards; all of them for an administrator who asks for `everyone`.
    func boards(by caller: Caller, everyone: Bool) async throws(AuthorityError) -> [Board]
    /// Lets go of a board: its session ends and another person may claim it.
    func release(_ board: InstallationID, by caller: Caller) async throws(AuthorityError)

    func sessions(by caller: Caller, everyone: Bool) async throws(AuthorityError) -> [SessionView]
    func session(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) -> SessionView
    func revoke(_ id: ObjectID, by caller: Caller) async throws(AuthorityError)

    /// Administrators only, as are `addUser` and `audit`.
    func users(by caller: Caller) async throws(AuthorityError) -> [UserView]
    func addUser(_ user: NewUser, by caller: Caller) async throws(AuthorityError) -> UserView
    func audit(_ query: AuditQuery, by caller: Caller) async throws(AuthorityError) -> [AuditEntry]

    /// A login to the boards' broker that may read data and status of one's own boards, and
    /// lives as long as the caller's session.
    func brokerLogin(by caller: Caller) async throws(AuthorityError) -> BrokerLogin
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

    package init(
        name: String, applicationID: String, publicURL: String, topicRoot: TopicRoot,
        version: String
    ) {
        self.name = name
        self.applicationID = applicationID
        self.publicURL = publicURL
        self.topicRoot = topicRoot
        self.version = version
    }
}

package struct LoginAttempt: Sendable {
    package let username: String
    package let password: SecretBytes
    /// The peer's address, for the rate limit and the audit log.
    package let origin: String

    package init(username: String, password: SecretBytes, origin: String) {
        self.username = username
        self.password = password
        self.origin = origin
    }
}

package struct LoggedIn: Sendable {
    package let token: SessionToken
    package let session: Session
    package let user: UserView

    package init(token: SessionToken, session: Session, user: UserView) {
        self.token = token
        self.session = session
        self.user = user
    }
}

/// A person (or program) with a live session.
package struct Caller: Equatable, Sendable {
    package let user: UserView
    package let session: Session

    package init(user: UserView, session: Session) {
        self.user = user
        self.session = session
    }
}

package struct UserView: Equatable, Sendable {
    package let objectID: UserID
    package let username: String
    package let isAdministrator: Bool
    package let mayClaim: Bool
    package let createdAt: Timestamp

    package init(
        objectID: UserID, username: String, isAdministrator: Bool, mayClaim: Bool,
        createdAt: Timestamp
    ) {
        self.objectID = objectID
        self.username = username
        self.isAdministrator = isAdministrator
        self.mayClaim = mayClaim
        self.createdAt = createdAt
    }
}

package struct NewUser: Sendable {
    package let username: String
    package let password: SecretBytes
    package let isAdministrator: Bool
    package let mayClaim: Bool

    package init(
        username: String, password: SecretBytes, isAdministrator: Bool, mayClaim: Bool
    ) {
        self.username = username
        self.password = password
        self.isAdministrator = isAdministrator
        self.mayClaim = mayClaim
    }
}

/// A person's wish to claim one board.
package struct ClaimOrder: Sendable {
    package let url: ClaimURL
    /// Nil: as long as the authority's own limit.
    package let duration: Duration?
    package let scope: ScopeDocument?

    package init(url: ClaimURL, duration: Duration?, scope: ScopeDocument?) {
        self.url = url
        self.duration = duration
        self.scope = scope
    }
}

/// How a provisioning goes.
package struct Claim: Equatable, Sendable {
    package enum State: String, Sendable {
        /// Sealed and handed to the broker, which has acknowledged it.
        case sent
        case accepted
        case rejected
        case expired
        case cancelled
    }

    /// The `id` of the provisioning message.
    package let id: MessageID
    package let board: InstallationID
    package let session: ObjectID
    package let state: State
    /// After this the provisioning is void.
    package let expiresAt: Timestamp
    /// Why the board rejected it.
    package let reason: Refusal?

    package init(
        id: MessageID, board: InstallationID, session: ObjectID, state: State,
        expiresAt: Timestamp, reason: Refusal? = nil
    ) {
        self.id = id
        self.board = board
        self.session = session
        self.state = state
        self.expiresAt = expiresAt
        self.reason = reason
    }
}

/// A board as its owner sees it.
package struct Board: Equatable, Sendable {
    package let installation: InstallationID
    package let name: String
    package let owner: UserView
    package let deviceKey: KeyID
    /// The session that lives on it, if one does.
    package let session: SessionView?
    /// The last authenticated request.
    package let lastSeen: Timestamp?
    /// From the board's retained `status`, as authentic as the broker; nil if none came.
    package let status: BoardStatus?

    package init(
        installation: InstallationID, name: String, owner: UserView, deviceKey: KeyID,
        session: SessionView?, lastSeen: Timestamp?, status: BoardStatus?
    ) {
        self.installation = installation
        self.name = name
        self.owner = owner
        self.deviceKey = deviceKey
        self.session = session
        self.lastSeen = lastSeen
        self.status = status
    }
}

/// A session with what its owner sees beyond the contract's own members.
package struct SessionView: Equatable, Sendable {
    package enum State: String, Sendable {
        /// Provisioned, and not yet accepted by the board.
        case pending
        case active
        case expired
        case revoked
    }

    package let session: Session
    package let username: String
    package let state: State
    package let lastSeen: Timestamp?
    package let boardName: String?

    package init(
        session: Session, username: String, state: State, lastSeen: Timestamp?,
        boardName: String?
    ) {
        self.session = session
        self.username = username
        self.state = state
        self.lastSeen = lastSeen
        self.boardName = boardName
    }
}

package struct AuditQuery: Sendable {
    /// 1...1000; the newest come first.
    package let limit: Int
    package let board: InstallationID?

    package init(limit: Int, board: InstallationID?) {
        self.limit = limit
        self.board = board
    }
}

/// One thing that happened. It names no token and no password.
package struct AuditEntry: Equatable, Sendable {
    package let at: Timestamp
    /// Such as `login`, `login.failed`, `claim`, `claim.accepted`, `session.revoked`.
    package let event: String
    /// The user's name or `board`.
    package let actor: String
    package let board: InstallationID?
    package let session: ObjectID?
    package let detail: String

    package init(
        at: Timestamp, event: String, actor: String, board: InstallationID?,
        session: ObjectID?, detail: String
    ) {
        self.at = at
        self.event = event
        self.actor = actor
        self.board = board
        self.session = session
        self.detail = detail
    }
}

/// How to read the boards' broker.
package struct BrokerLogin: Sendable {
    package let uri: String
    package let clientID: String
    package let username: String
    package let password: SecretBytes
    /// CA certificates, PEM; the system's store when nil.
    package let ca: String?
    /// What this login may subscribe to.
    package let filters: [String]

    package init(
        uri: String, clientID: String, username: String, password: SecretBytes, ca: String?,
        filters: [String]
    ) {
        self.uri = uri
        self.clientID = clientID
        self.username = username
        self.password = password
        self.ca = ca
        self.filters = filters
    }
}
