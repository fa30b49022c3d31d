package import Sessions
package import Wire

/// The kinds of alerts. Receivers depend on the names, so a name never changes its meaning.
package enum AlertKind: String, Sendable, CaseIterable {
    /// The board's session ends soon, at a known time.
    case sessionEnding = "session-ending"
    /// The board's session has expired, and there is no other.
    case sessionExpired = "session-expired"
    /// The board has a session, and was not heard for some time.
    case boardOffline = "board-offline"
    /// The board is connected and has sent data before, but none for some time.
    case boardSilent = "board-silent"
    /// The board refused many writes of its apps.
    case refusals
    /// The board's data waits too long for the broker.
    case queueFilling = "queue-filling"
    /// Another machine uses the board's identity.
    case identityShared = "identity-shared"
    /// Two boards came with the file of one prepared claim. The claim has the place of the board.
    case claimUsedTwice = "claim-used-twice"
}

/// A state of a board, or of many boards, that a person should know of.
package struct Alert: Equatable, Sendable {
    package let id: MessageID
    package let kind: AlertKind
    /// The board, or the prepared claim. Nil: many boards have the same state at once, and one
    /// alert is for all of them.
    package let board: InstallationID?
    /// The owner of the many boards; nil if the alert is about one board.
    package let owner: UserID?
    package var boardName: String
    /// A sentence.
    package var text: String
    package var details: [String: JSONValue]
    package let openedAt: Timestamp
    package var resolvedAt: Timestamp?
    /// The number of messages about it on each channel. 0: it is listed and not sent. The alert
    /// about many boards is sent for it.
    package var messages: Int64

    package init(
        id: MessageID, kind: AlertKind, board: InstallationID?, owner: UserID? = nil,
        boardName: String, text: String, details: [String: JSONValue], openedAt: Timestamp,
        resolvedAt: Timestamp? = nil, messages: Int64 = 0
    ) {
        self.id = id
        self.kind = kind
        self.board = board
        self.owner = owner
        self.boardName = boardName
        self.text = text
        self.details = details
        self.openedAt = openedAt
        self.resolvedAt = resolvedAt
        self.messages = messages
    }

    /// The board that it is about. Nil for many boards, and for a prepared claim.
    package var watchedBoard: InstallationID? { kind == .claimUsedTwice ? nil : board }

    /// How long before the end of a session the alert says so, in seconds.
    var ahead: Int64? { details[Self.aheadMember]?.asInteger }
    static let aheadMember = "aheadSeconds"

    /// When an alert about many boards was last sent, in seconds since 1970.
    var sentAt: Int64 { details[Self.sentMember]?.asInteger ?? openedAt.seconds }
    static let sentMember = "sentAt"

    /// Whether an alert about many boards was sent within `manyWithin`.
    func isFresh(at now: Timestamp) -> Bool {
        now - Timestamp(milliseconds: sentAt * 1000) < AlertRules.manyWithin
    }
}

extension AlertRules {
    /// If more boards of one owner than this get the same alert within `manyWithin`, one message
    /// is for all.
    static let many = 5
    static let manyWithin = Duration.seconds(600)
    /// The maximum number of open alerts.
    static let openLimit = 10_000
    /// The same for the boards of one owner, so that nobody fills the list.
    static let openLimitOfOwner = 1000
    /// The maximum number of messages about the boards of one owner within an hour. Messages that
    /// an alert is resolved do not count: there is at most one for each alert.
    static let sentPerHour = 20
    /// How long resolved alerts are kept.
    static let memory = Duration.seconds(30 * 86_400)
    /// How long data must wait too long, so that a queue that gets shorter is no alert.
    static let queueHolds = Duration.seconds(15 * 60)

    /// How long a state must be over before its alert is resolved, so that a board that comes and
    /// goes sends no message each minute.
    func calm(of kind: AlertKind) -> Duration {
        switch kind {
        case .sessionEnding, .sessionExpired: .seconds(10 * 60)
        case .boardOffline: min(.seconds(5 * 60), offlineAfter)
        case .boardSilent: min(.seconds(5 * 60), silentAfter)
        case .queueFilling: .seconds(15 * 60)
        case .refusals, .identityShared: .seconds(3600)
        // Only a person ends this state.
        case .claimUsedTwice: .zero
        }
    }
}

/// The facts about a board from which its alerts follow.
package struct WatchedBoard: Equatable, Sendable {
    package struct LivingSession: Equatable, Sendable {
        package let id: ObjectID
        package let createdAt: Timestamp
        /// Nil: it has no known end.
        package let outlook: SessionOutlook?

        package init(id: ObjectID, createdAt: Timestamp, outlook: SessionOutlook?) {
            self.id = id
            self.createdAt = createdAt
            self.outlook = outlook
        }
    }

    package let installation: InstallationID
    package let name: String
    package let owner: UserID
    /// Since when the present owner has it.
    package let ownedSince: Timestamp
    /// The active session; nil if there is none.
    package var session: LivingSession?
    /// When the last session expired; nil if it did not.
    package var expiredAt: Timestamp?
    /// Whether `renew` can give it a new session now.
    package var isRenewable = false
    /// The last authenticated request. Only this shows that the board is there.
    package var lastSeen: Timestamp?
    /// Nil if this authority does not read data, or has read none of this board since its start.
    package var lastData: Timestamp?
    package var report: BoardReport?
    /// When a second board came with the file of a prepared claim. It is then no board that is
    /// watched, but the claim.
    package var secondAt: Timestamp?

    package init(
        installation: InstallationID, name: String, owner: UserID,
        ownedSince: Timestamp = Timestamp(milliseconds: 0), session: LivingSession? = nil,
        expiredAt: Timestamp? = nil, lastSeen: Timestamp? = nil, lastData: Timestamp? = nil,
        report: BoardReport? = nil
    ) {
        self.installation = installation
        self.name = name
        self.owner = owner
        self.ownedSince = ownedSince
        self.session = session
        self.expiredAt = expiredAt
        self.lastSeen = lastSeen
        self.lastData = lastData
        self.report = report
    }
}

/// A way on which alerts are sent.
package enum AlertChannel: String, Sendable, CaseIterable {
    case webhook, email, ntfy
    /// Web Push, to the browsers of the person whose board it is.
    case push
}
