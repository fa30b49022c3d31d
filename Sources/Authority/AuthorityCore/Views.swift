package import Gate
package import Sessions
package import Wire

// The types that people's programs receive.

/// A new session with its token.
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

/// A person or program with a live session, or a caller with the master key.
package struct Caller: Equatable, Sendable {
    package let user: UserView
    package let session: Session
    /// If true, `user` and `session` are placeholders for logs and answers, and are in no table.
    package let isMaster: Bool
    /// Whether the session comes from the page's cookie, so that a person asks.
    package var isAtPage = false

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

    /// A caller with the master key: an administrator without a session.
    package static let master = Caller(
        master: Session(
            objectID: .masterKey, user: .masterKey, restricted: false,
            createdWith: CreatedWith(action: "master", authProvider: "master"),
            installationID: nil, createdAt: Timestamp(milliseconds: 0), expiresAt: nil))
}

/// A user as people see it.
package struct UserView: Equatable, Sendable {
    package let objectID: UserID
    package let username: String
    package let isAdministrator: Bool
    package let mayClaim: Bool
    package let createdAt: Timestamp
    package let updatedAt: Timestamp
    /// False: the user cannot log in and has no live session.
    package let isEnabled: Bool
    /// Not verified.
    package let email: EmailAddress?
    /// The user's own fields.
    package let fields: [String: JSONValue]

    package init(
        objectID: UserID, username: String, isAdministrator: Bool, mayClaim: Bool,
        createdAt: Timestamp, updatedAt: Timestamp? = nil, isEnabled: Bool = true,
        email: EmailAddress? = nil, fields: [String: JSONValue] = [:]
    ) {
        self.updatedAt = updatedAt ?? createdAt
        self.email = email
        self.fields = fields
        self.isEnabled = isEnabled
        self.objectID = objectID
        self.username = username
        self.isAdministrator = isAdministrator
        self.mayClaim = mayClaim
        self.createdAt = createdAt
    }
}

/// The state of a claim.
package struct Claim: Equatable, Sendable {
    package enum State: String, Sendable {
        /// Sealed and stored; the board has not answered yet. The broker may not have it yet.
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
    /// After this time the claim is void.
    package let expiresAt: Timestamp
    /// Why the board rejected it.
    package let reason: Refusal?
    /// Hints for the claimant, such as that an imported token cannot be validated here.
    package let notes: [String]
    /// It gives an expired board a new session from afar, without a claim secret.
    package let isRenewal: Bool

    package init(
        id: MessageID, board: InstallationID, session: ObjectID, state: State,
        expiresAt: Timestamp, reason: Refusal? = nil, notes: [String] = [],
        isRenewal: Bool = false
    ) {
        self.isRenewal = isRenewal
        self.notes = notes
        self.id = id
        self.board = board
        self.session = session
        self.state = state
        self.expiresAt = expiresAt
        self.reason = reason
    }
}

/// A board as its owner sees it, or as a person sees it who has a share: see `seen(by:)`.
package struct Board: Equatable, Sendable {
    package let installation: InstallationID
    package let name: String
    package let owner: UserView
    package let deviceKey: KeyID
    /// The session that lives on it, if one does.
    package let session: SessionView?
    /// Why its last session ended. Nil while one lives, and for an end that is too long ago.
    package let sessionEnd: String?
    /// Whether `renew` can give it a new session now.
    package private(set) var isRenewable: Bool
    /// The renewal that waits for it.
    package private(set) var renewal: Claim?
    /// Within how many days the session ends: 30, 7 or 1. Nil: it is not time to announce it.
    package let warning: Int?
    /// The time of the last authenticated request.
    package let lastSeen: Timestamp?
    /// From the board's retained `status` message. It is only as authentic as the broker; nil if
    /// none came.
    package let status: BoardStatus?
    /// What the session may do. Nil without a session, or without a scope.
    package private(set) var scope: ScopeDocument?
    /// The last sealed report of the board; nil if none came.
    package private(set) var report: BoardReport?
    /// Since when the board reports the same.
    package private(set) var reportedAt: Timestamp?
    /// Since when the present owner has it.
    package let ownedSince: Timestamp
    package private(set) var labels: [BoardLabel]
    /// What its owner has given to the person who sees it. Nil for the owner.
    package private(set) var shared: ShareRecord?
    /// Whether the person who sees it may only see it.
    package private(set) var isSeenOnly = false
    /// The classes whose readings that person may see. Nil: all.
    package private(set) var shownClasses: [ClassName]?

    package init(
        installation: InstallationID, name: String, owner: UserView, deviceKey: KeyID,
        session: SessionView?, lastSeen: Timestamp?, status: BoardStatus?,
        scope: ScopeDocument? = nil, report: BoardReport? = nil, reportedAt: Timestamp? = nil,
        ownedSince: Timestamp = Timestamp(milliseconds: 0), sessionEnd: String? = nil,
        isRenewable: Bool = false, renewal: Claim? = nil, warning: Int? = nil,
        labels: [BoardLabel] = []
    ) {
        self.labels = labels
        self.warning = warning
        self.sessionEnd = sessionEnd
        self.isRenewable = isRenewable
        self.renewal = renewal
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

extension Board {
    /// The board as a person with this right sees it. Labels and claims are the owner's alone; the
    /// scope and the report are for those who manage it.
    package func seen(by right: BoardRight) -> Self {
        var board = self
        board.shared = right.share
        guard right.isShared else { return board }
        board.shownClasses = right.share?.terms.classes
        (board.labels, board.isRenewable, board.renewal) = ([], false, nil)
        guard !right.permits(.manage) else { return board }
        (board.scope, board.report, board.reportedAt) = (nil, nil, nil)
        board.isSeenOnly = true
        return board
    }
}

/// A session, with members for its owner that the contract does not have.
package struct SessionView: Equatable, Sendable {
    package enum State: String, Sendable {
        /// Sent to the board, which has not accepted it yet.
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
    /// The number of its present refresh token, counted from 1. Nil without refresh tokens.
    package let generation: UInt64?
    /// When it ends by itself, and why. Nil: it has no known end, or has ended.
    package let outlook: SessionOutlook?
    /// The latest end that `extend` can set. Nil: none can be set.
    package let latestEnd: Timestamp?
    /// What it may do on its board. Nil: everything that a restricted session may.
    package let scope: ScopeDocument?
    /// Whether its board has not confirmed that scope yet.
    package let isScopePending: Bool

    package init(
        session: Session, username: String, state: State, lastSeen: Timestamp?,
        boardName: String?, generation: UInt64? = nil, outlook: SessionOutlook? = nil,
        latestEnd: Timestamp? = nil, scope: ScopeDocument? = nil,
        isScopePending: Bool = false
    ) {
        self.generation = generation
        self.outlook = outlook
        self.latestEnd = latestEnd
        self.scope = scope
        self.isScopePending = isScopePending
        self.session = session
        self.username = username
        self.state = state
        self.lastSeen = lastSeen
        self.boardName = boardName
    }
}

/// Selects entries of the audit log.
package struct AuditQuery: Equatable, Sendable {
    /// 1...1000; the newest come first.
    package var limit: Int
    package var board: InstallationID?
    package var session: ObjectID?
    package var actor: String?
    /// A prefix of the event's name.
    package var event: String?
    /// Entries from `since` to `until`, both included.
    package var since: Timestamp?
    package var until: Timestamp?
    /// Only entries whose number is below this.
    package var before: Int64?

    package init(limit: Int, board: InstallationID? = nil) {
        self.limit = limit
        self.board = board
    }
}

/// One audit log entry. It contains no token and no password.
package struct AuditEntry: Equatable, Sendable {
    /// Increases with each entry; 0 until it is stored.
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

/// A login with which a person's program reads from the boards' broker.
package struct BrokerLogin: Sendable {
    package let uri: String
    package let clientID: String
    package let username: String
    package let password: SecretBytes
    /// CA certificates, PEM. Nil: use the system's certificates.
    package let ca: String?
    /// The topic filters that this login may subscribe to.
    package let filters: [String]
    /// The SHA-256 fingerprint of the first certificate in `ca`.
    package let fingerprint: String?

    package init(
        uri: String, clientID: String, username: String, password: SecretBytes, ca: String?,
        filters: [String], fingerprint: String? = nil
    ) {
        self.fingerprint = fingerprint
        self.uri = uri
        self.clientID = clientID
        self.username = username
        self.password = password
        self.ca = ca
        self.filters = filters
    }
}
