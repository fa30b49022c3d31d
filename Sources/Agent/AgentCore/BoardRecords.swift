package import Sessions
package import Wire

/// The board's identity. It is created once and never replaced.
package struct BoardIdentity: Sendable {
    package let installation: InstallationID
    /// The raw X25519 private key.
    package let deviceSecret: SecretBytes
    /// The raw X25519 public key.
    package let deviceKey: [UInt8]

    package init(installation: InstallationID, deviceSecret: SecretBytes, deviceKey: [UInt8]) {
        self.installation = installation
        self.deviceSecret = deviceSecret
        self.deviceKey = deviceKey
    }
}

/// A claim secret that was not used yet.
package struct PendingClaim: Sendable {
    package let secret: SecretBytes
    package let expiresAt: Timestamp
    /// True if the clock was unset at creation. The lifetime then begins when the clock is set.
    package let awaitsClock: Bool
    /// The secret before this one, on a board that asks to join. It may have been accepted
    /// already when it expired.
    package let former: SecretBytes?

    package init(
        secret: SecretBytes, expiresAt: Timestamp, awaitsClock: Bool = false,
        former: SecretBytes? = nil
    ) {
        self.secret = secret
        self.expiresAt = expiresAt
        self.awaitsClock = awaitsClock
        self.former = former
    }

    /// The secrets under which a provisioning may come.
    var secrets: [SecretBytes] { [secret, former].compactMap(\.self) }
}

/// A prepared claim that this board took from its file. With it the board asks to join.
package struct PendingJoin: Sendable {
    /// It has the place of an installation id in topics and derivations.
    package let id: InstallationID
    package let secret: SecretBytes
    /// The authority's raw X25519 public key.
    package let sealKey: [UInt8]
    /// The authority's name, for people.
    package let authority: String
    /// From then on the broker lets nobody in with it. The board itself does not judge that.
    package let expiresAt: Timestamp

    package init(
        id: InstallationID, secret: SecretBytes, sealKey: [UInt8], authority: String,
        expiresAt: Timestamp
    ) {
        self.id = id
        self.secret = secret
        self.sealKey = sealKey
        self.authority = authority
        self.expiresAt = expiresAt
    }

    package init(_ file: PreparedClaimFile) {
        self.init(
            id: file.id, secret: file.secret, sealKey: file.sealKey, authority: file.authority,
            expiresAt: file.expiresAt)
    }
}

/// The trusted authority and the access to its broker. The trust outlives the session, because a
/// repeated revocation must still be opened and answered.
package struct Trust: Sendable {
    package var authority: PinnedAuthority
    /// The broker access from the provisioning.
    package var broker: BrokerAccess?
    /// The password before the provisioned one; at first the derived password. It is kept until
    /// the provisioned password has worked.
    package var firstPassword: SecretBytes?
    /// The user name for `firstPassword`. Nil: the installation id.
    package var firstUsername: String?
    /// The highest `seq` accepted from the authority's seal key.
    package var highestSequence: Int64
    /// The id, the session and the payload's SHA-256 of the accepted provisioning.
    package var provision: MessageID
    package var session: ObjectID
    package var payloadDigest: [UInt8]
    /// True after any later reply, which shows that the authority received the acceptance.
    package var isAcknowledged: Bool
    /// The user whose data the queue holds.
    package var user: UserID
    /// `iss` of the first access token.
    package var issuer: String
    /// The period over which the authority lets its boards spread common actions. Nil: the
    /// authority never sent it.
    package var spread: Duration?
    /// The id of the last `session.updated` that was taken. A repetition is confirmed again.
    package var lastUpdate: MessageID?
}

/// The session on this board, with its tokens. It cannot be recovered after it ends.
package struct HeldSession: Sendable {
    package var session: Session
    package var user: UserProfile
    package var tokens: SessionTokens
    package var scope: ScopeDocument?
    /// The last sequence number given before this scope came into force. Writes up to it were
    /// accepted under an earlier scope, and are judged again before they leave.
    package var lastBeforeScope: Int64 = 0
    package var heartbeat: Duration
    /// How long the session stays usable after the last contact.
    package var offline: Duration
    package var lastContact: Timestamp
    /// The `id` of a refresh that has no answer yet. The board repeats the refresh until it is
    /// answered.
    package var pendingRefresh: MessageID?
    /// The user's restricted sessions from the last answer. Nil before the first answer.
    package var sessions: [Session]?
}

/// Values that the board keeps when its session ends.
package struct BoardMemory: Equatable, Sendable {
    /// The highest time that the authority has sent. A clock below it counts as unset.
    package var floor: Timestamp
    /// Why the last session ended, if one has.
    package var ended: UnavailableReason?
    /// A sign-out on this board that the authority has not confirmed.
    package var signOut: SignOut?
    /// Whether a policy file was in force last.
    package var hasPolicy: Bool
    /// The SHA-256 of the rules that the authority has confirmed. Nil: it has none. All zero: some
    /// were sent, and none confirmed yet.
    package var toldConfiguration: [UInt8]?
    /// The ids of the last prepared claims that this board took. None is taken again.
    package private(set) var takenClaims: [InstallationID]
    private static let mostTaken = 16

    package init(
        floor: Timestamp = Timestamp(milliseconds: 0), ended: UnavailableReason? = nil,
        signOut: SignOut? = nil, hasPolicy: Bool = false, toldConfiguration: [UInt8]? = nil,
        takenClaims: [InstallationID] = []
    ) {
        self.floor = floor
        self.ended = ended
        self.signOut = signOut
        self.hasPolicy = hasPolicy
        self.toldConfiguration = toldConfiguration
        self.takenClaims = takenClaims.suffix(Self.mostTaken)
    }

    package mutating func took(_ claim: InstallationID) {
        takenClaims = (takenClaims + [claim]).suffix(Self.mostTaken)
    }
}

/// All records on disk when the agent started.
package struct BoardRecords: Sendable {
    package var identity: BoardIdentity
    package var claim: PendingClaim?
    package var join: PendingJoin?
    package var trust: Trust?
    package var session: HeldSession?
    package var memory: BoardMemory
    /// The commands that were taken under the held session.
    package var commands = TakenCommands()
    /// The session's record exists but cannot be opened.
    package var isUnreadable: Bool
    package var lastSequence: Int64
    /// The users whose data the queue holds, for the case that the trust cannot be read.
    package var queueUsers: [String] = []

    package init(
        identity: BoardIdentity, claim: PendingClaim? = nil, trust: Trust? = nil,
        session: HeldSession? = nil, memory: BoardMemory = BoardMemory(),
        isUnreadable: Bool = false, lastSequence: Int64 = 0
    ) {
        self.identity = identity
        self.claim = claim
        self.trust = trust
        self.session = session
        self.memory = memory
        self.isUnreadable = isUnreadable
        self.lastSequence = lastSequence
    }
}
