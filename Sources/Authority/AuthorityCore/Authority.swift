package import Sessions
import Wire

/// Decides what boards and people may do, and records it; what follows at the broker is left
/// as chores for a courier. It has no clock, no randomness and no state of its own but a copy
/// of the signing keys.
package struct Authority: Sendable {
    let store: any AuthorityStore
    let cryptography: any AuthorityCryptography
    let courier: any Courier
    let keys: AuthorityKeys
    let signatures: any IDTokenSignatures
    package let rules: AuthorityRules
    let clock: @Sendable () -> Timestamp

    package init(
        store: any AuthorityStore, cryptography: any AuthorityCryptography,
        courier: any Courier, keys: AuthorityKeys, rules: AuthorityRules,
        signatures: any IDTokenSignatures = NoIDTokens(),
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.cryptography = cryptography
        self.courier = courier
        self.keys = keys
        self.signatures = signatures
        self.rules = rules
        self.clock = clock
    }

    package var info: AuthorityInfo { rules.info }
    package var ownKeys: AuthorityKeys { keys }
}

/// Does the chores of one board or person, in their order, at the broker.
package protocol Courier: Sendable {
    /// Returns when none is left in `line`, or throws when the broker could not be told; then
    /// they stay in the store and are tried again without being asked.
    func settle(_ line: String) async throws(AuthorityError)
    /// Asks for the same without waiting for it.
    func nudge(_ line: String)
    /// How a person's program reaches the broker.
    var consumerAccess: ConsumerAccess? { get }
}

/// What a program needs besides its own login; nil where the authority lets nobody in.
package struct ConsumerAccess: Sendable {
    package let uri: String
    package let ca: String?

    package init(uri: String, ca: String?) {
        self.uri = uri
        self.ca = ca
    }
}

/// What an authority is configured to do.
package struct AuthorityRules: Sendable {
    package let info: AuthorityInfo
    package let lifetimes: LifetimePolicy
    /// How often boards show that they live.
    package let heartbeat: Duration
    /// How long boards use a session without us; an idle limit shortens it.
    package let offline: Duration
    /// How long a provisioning waits for its board.
    package let claimLifetime: Duration
    /// Whether boards get logins from us.
    package let managesBrokerAccess: Bool
    /// Whether people may make themselves users.
    package let letsPeopleSignUp: Bool
    /// Who else may say who a person is.
    package let providers: [LoginProvider: IdentityProvider]
    /// Where boards reach the broker from now on; nil: where they were set up to.
    package var brokerPlace: ConsumerAccess?
    /// Over how long boards spread what a fleet would do at one moment, as they are told; nil:
    /// they are not told.
    package var spread: @Sendable () -> Duration? = { nil }

    package init(
        info: AuthorityInfo, lifetimes: LifetimePolicy, heartbeat: Duration = .seconds(180),
        offline: Duration = .seconds(7 * 86_400), claimLifetime: Duration = .seconds(86_400),
        managesBrokerAccess: Bool, letsPeopleSignUp: Bool = false,
        providers: [IdentityProvider] = []
    ) {
        self.providers = Dictionary(providers.map { ($0.name, $0) }) { first, _ in first }
        self.letsPeopleSignUp = letsPeopleSignUp
        self.info = info
        self.lifetimes = lifetimes
        self.heartbeat = heartbeat
        self.offline = offline
        self.claimLifetime = claimLifetime
        self.managesBrokerAccess = managesBrokerAccess
    }

    /// How long a reply is kept for redeliveries. Source: the wire contract, Requests and replies.
    static let replyLifetime = Duration.seconds(600)
    /// How far a board's clock may be off before its tokens are not looked at.
    static let clockTolerance = Duration.seconds(300)
    /// How long after its end a provisioning may still be found to have been taken in time.
    static let claimGrace = Duration.seconds(600)
    /// The longest that a login outlives its session for the farewell's sake.
    static let longestFarewell = Duration.seconds(30 * 86_400)
    /// How long what is over for good is kept for those who ask what became of it.
    static let memory = Duration.seconds(30 * 86_400)
    /// How long the audit log remembers.
    static let auditMemory = Duration.seconds(365 * 86_400)
    /// How many replies of one board stay when its oldest give way.
    static let repliesOfBoard = 256
    /// In so many cases of 256 the oldest give way to a new reply.
    static let trimmingChance: UInt8 = 8
}

extension Authority {
    func hash(of secret: SecretBytes) throws(AuthorityError) -> [UInt8] {
        try cryptography.hmac(secret.reveal(), key: keys.tokenHash)
    }

    func newObjectID() throws(AuthorityError) -> ObjectID {
        guard let id = ObjectID(random: try cryptography.random(64)) else {
            throw .failed(layer: "crypto", text: "the random bytes are not random")
        }
        return id
    }

    func newUserID() throws(AuthorityError) -> UserID {
        guard let id = UserID(random: try cryptography.random(64)) else {
            throw .failed(layer: "crypto", text: "the random bytes are not random")
        }
        return id
    }

    func newMessageID() throws(AuthorityError) -> MessageID {
        MessageID(random: try cryptography.random(16))
    }

    var sessionTokens: SessionTokenFormat {
        SessionTokenFormat(cryptography: cryptography, key: keys.tokenHash)
    }

    func newSessionToken(at now: Timestamp) throws(AuthorityError) -> SessionToken {
        try sessionTokens.token(
            madeAt: now, random: try cryptography.random(SessionTokenFormat.randomCount))
    }

    func keyID(of publicKey: [UInt8]) throws(AuthorityError) -> KeyID {
        KeyID(digest: try cryptography.sha256(publicKey))
    }

    func inbox(of board: InstallationID) -> String {
        ContractTopic.inbox(board).text(under: info.topicRoot)
    }
}

extension AuthorityError {
    static func refuse(_ code: ErrorCode, _ text: String) -> AuthorityError {
        .refused(Refusal(code, text))
    }

    package static let sessionOver = refuse(.invalidSession, "this session is over")
}
