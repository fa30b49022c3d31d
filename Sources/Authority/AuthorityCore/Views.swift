package import Sessions
package import Wire

// What people are shown.

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

/// A person (or program) with a live session, or somebody with the master key.
package struct Caller: Equatable, Sendable {
    package let user: UserView
    package let session: Session
    /// Neither user nor session is there then: both only say that in logs and answers.
    package let isMaster: Bool

    package init(user: UserView, session: Session) {
        self.user = user
        self.session = session
        isMaster = false
    }

    private init(master session: Session) {
        self.session = session
        user = UserView(
            objectID: .masterKey, username: "the master key", isAdministrator: true,
            mayClaim: false, createdAt: session.createdAt)
        isMaster = true
    }

    /// Whoever showed the master key: an administrator without a session of his own.
    package static let master = Caller(
        master: Session(
            objectID: .masterKey, user: .masterKey, restricted: false,
            createdWith: CreatedWith(action: "master", authProvider: "master"),
            installationID: nil, createdAt: Timestamp(milliseconds: 0), expiresAt: nil))
}

package struct UserView: Equatable, Sendable {
    package let objectID: UserID
    package let username: String
    package let isAdministrator: Bool
    package let mayClaim: Bool
    package let createdAt: Timestamp
    /// False: he cannot log in, and no session of his lives.
    package let isEnabled: Bool

    package init(
        objectID: UserID, username: String, isAdministrator: Bool, mayClaim: Bool,
        createdAt: Timestamp, isEnabled: Bool = true
    ) {
        self.isEnabled = isEnabled
        self.objectID = objectID
        self.username = username
        self.isAdministrator = isAdministrator
        self.mayClaim = mayClaim
        self.createdAt = createdAt
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
    /// What the claimant should know, such as an imported token that cannot be validated here.
    package let notes: [String]

    package init(
        id: MessageID, board: InstallationID, session: ObjectID, state: State,
        expiresAt: Timestamp, reason: Refusal? = nil, notes: [String] = []
    ) {
        self.notes = notes
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
    /// What the session may do; nil where there is none, or nothing narrows it.
    package let scope: ScopeDocument?
    /// What the board has told under its session, sealed; nil for one that has not.
    package let report: BoardReport?
    /// Since when it has told the same.
    package let reportedAt: Timestamp?
    /// Since when it is its owner's.
    package let ownedSince: Timestamp

    package init(
        installation: InstallationID, name: String, owner: UserView, deviceKey: KeyID,
        session: SessionView?, lastSeen: Timestamp?, status: BoardStatus?,
        scope: ScopeDocument? = nil, report: BoardReport? = nil, reportedAt: Timestamp? = nil,
        ownedSince: Timestamp = Timestamp(milliseconds: 0)
    ) {
        self.ownedSince = ownedSince
        self.scope = scope
        self.report = report
        self.reportedAt = reportedAt
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
    /// How often its refresh token was rotated, counted from 1; nil where it has none.
    package let generation: UInt64?

    package init(
        session: Session, username: String, state: State, lastSeen: Timestamp?,
        boardName: String?, generation: UInt64? = nil
    ) {
        self.generation = generation
        self.session = session
        self.username = username
        self.state = state
        self.lastSeen = lastSeen
        self.boardName = boardName
    }
}

package struct AuditQuery: Equatable, Sendable {
    /// 1...1000; the newest come first.
    package var limit: Int
    package var board: InstallationID?
    package var session: ObjectID?
    package var actor: String?
    /// What the event's name begins with.
    package var event: String?
    /// Not before this, and not after that.
    package var since: Timestamp?
    package var until: Timestamp?
    /// Only entries whose number is below this.
    package var before: Int64?

    package init(limit: Int, board: InstallationID? = nil) {
        self.limit = limit
        self.board = board
    }
}

/// One thing that happened. It names no token and no password.
package struct AuditEntry: Equatable, Sendable {
    /// Rises with each entry; 0 until it is stored.
    package var number: Int64
    package let at: Timestamp
    /// Such as `login`, `login.failed`, `claim`, `claim.accepted`, `session.revoked`.
    package let event: String
    /// The user's name or `board`.
    package let actor: String
    package let board: InstallationID?
    package let session: ObjectID?
    package let detail: String

    package init(
        number: Int64 = 0, at: Timestamp, event: String, actor: String,
        board: InstallationID?, session: ObjectID?, detail: String
    ) {
        self.number = number
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
