package import Sessions
package import Wire

/// Who this board is. Made once, never replaced.
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

/// A claim secret that has not been used.
package struct PendingClaim: Sendable {
    package let secret: SecretBytes
    package let expiresAt: Timestamp
    /// It was made while the clock was unset: its time begins when the clock is set.
    package let awaitsClock: Bool

    package init(secret: SecretBytes, expiresAt: Timestamp, awaitsClock: Bool = false) {
        self.secret = secret
        self.expiresAt = expiresAt
        self.awaitsClock = awaitsClock
    }
}

/// Whom the board trusts and how it reaches its broker. It outlives its session: a
/// revocation that comes again must still be opened and answered.
package struct Trust: Sendable {
    package var authority: PinnedAuthority
    /// What the provisioning said of the broker.
    package var broker: BrokerAccess?
    /// The password before it, at first the derived one, until the provisioned one has worked.
    package var firstPassword: SecretBytes?
    /// The user name that goes with it; nil: the installation id.
    package var firstUsername: String?
    /// The highest `seq` taken from the authority's seal key.
    package var highestSequence: Int64
    /// The provisioning that was accepted: its id, its session, the SHA-256 of its payload.
    package var provision: MessageID
    package var session: ObjectID
    package var payloadDigest: [UInt8]
    /// Any reply has come since, so the acceptance was heard.
    package var isAcknowledged: Bool
    /// Whose data the queue holds.
    package var user: UserID
    /// `iss` of the first access token.
    package var issuer: String
    /// Over how long the authority has its boards spread what all want at one moment; nil: it
    /// never said.
    package var spread: Duration?
}

/// The session on this board, with its tokens. Lost for ever when the session ends.
package struct HeldSession: Sendable {
    package var session: Session
    package var user: UserProfile
    package var tokens: SessionTokens
    package var scope: ScopeDocument?
    package var heartbeat: Duration
    /// How long after the last contact it stays usable.
    package var offline: Duration
    package var lastContact: Timestamp
    /// The `id` of a refresh that was begun and not answered: it is repeated until it is.
    package var pendingRefresh: MessageID?
    /// The user's restricted sessions as last heard of; nil before the first answer.
    package var sessions: [Session]?
}

/// What the board remembers whatever happens to its session.
package struct BoardMemory: Equatable, Sendable {
    /// The highest time that the authority has told; a clock below it is not set.
    package var floor: Timestamp
    /// Why the last session ended, if one has.
    package var ended: UnavailableReason?
    /// A sign-out on this board that the authority has not confirmed.
    package var signOut: SignOut?
    /// A policy file was in force last.
    package var hasPolicy: Bool

    package init(
        floor: Timestamp = Timestamp(milliseconds: 0), ended: UnavailableReason? = nil,
        signOut: SignOut? = nil, hasPolicy: Bool = false
    ) {
        self.floor = floor
        self.ended = ended
        self.signOut = signOut
        self.hasPolicy = hasPolicy
    }
}

/// Everything that was on disk when the agent started.
package struct BoardRecords: Sendable {
    package var identity: BoardIdentity
    package var claim: PendingClaim?
    package var trust: Trust?
    package var session: HeldSession?
    package var memory: BoardMemory
    /// The session's record is there and cannot be opened.
    package var isUnreadable: Bool
    package var lastSequence: Int64
    /// Whose data the queue holds, looked up where the trust does not tell it.
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
