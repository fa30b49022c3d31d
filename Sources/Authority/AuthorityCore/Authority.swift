package import Gate
package import Sessions
package import Wire

/// Decides what boards and people may do, and records the decision in the store. Changes at the
/// broker become jobs for a worker. The authority reads the time and takes random bytes only from
/// what it is given. Its only state is a copy of the signing keys.
package struct Authority: Sendable {
    let store: any RecordStore
    let cryptography: any AuthorityCryptography
    let worker: any JobWorker
    let keys: AuthorityKeys
    let signatures: any IDTokenSignatures
    let codes: any AuthorizationCodes
    package let rules: AuthorityRules
    let clock: @Sendable () -> Timestamp
    /// The next effect spends it: see `once`.
    var request: RequestToSpend?

    package init(
        store: any RecordStore, cryptography: any AuthorityCryptography,
        worker: any JobWorker, keys: AuthorityKeys, rules: AuthorityRules,
        signatures: any IDTokenSignatures = NoIDTokens(),
        codes: any AuthorizationCodes = NoAuthorizationCodes(),
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.cryptography = cryptography
        self.worker = worker
        self.keys = keys
        self.signatures = signatures
        self.codes = codes
        self.rules = rules
        self.clock = clock
    }

    package var info: AuthorityInfo { rules.info }
    package var ownKeys: AuthorityKeys { keys }
}

/// The worker that does the broker jobs of a board or a person, in order.
package protocol JobWorker: Sendable {
    /// Returns when no job is left in `line`. Throws if the broker could not be updated: the jobs
    /// then stay in the store, and the worker retries them by itself.
    func settle(_ line: String) async throws(AuthorityError)
    /// The same for a caller who may not wait for a broker that hangs. False: the broker does not
    /// have the changes yet. The worker goes on by itself.
    func deliver(_ line: String) async -> Bool
    /// Asks for the same, but does not wait.
    func wake(_ line: String)
    /// Whether a consumer's program is connected. Nil if the broker does not tell.
    func isConnected(_ clientID: String) -> Bool?
    /// How a reader reaches the broker. Nil if the authority makes no logins.
    var consumerAccess: ConsumerAccess? { get }
}

extension JobWorker {
    package func isConnected(_ clientID: String) -> Bool? { nil }

    package func deliver(_ line: String) async -> Bool {
        do throws(AuthorityError) {
            try await settle(line)
            return true
        } catch {
            wake(line)
            return false
        }
    }
}

/// The broker's address and CA, which a program needs besides its own login. Nil if the authority
/// gives nobody a broker login.
package struct ConsumerAccess: Sendable {
    package let uri: String
    package let ca: String?
    /// The SHA-256 fingerprint of the first certificate in `ca`.
    package var fingerprint: String?
    /// Whether the broker checks each message that it delivers, not only the subscription.
    package var checksDeliveries = false

    package init(uri: String, ca: String?) {
        self.uri = uri
        self.ca = ca
    }
}

/// The configuration of an authority.
package struct AuthorityRules: Sendable {
    package let info: AuthorityInfo
    package let lifetimes: LifetimePolicy
    /// The interval between two heartbeats of a board.
    package let heartbeat: Duration
    /// How long a board may use a session without contact to the authority. An idle limit shortens
    /// it.
    package let offline: Duration
    /// How long a claim waits for its board.
    package let claimLifetime: Duration
    /// Whether the authority gives boards their broker logins.
    package let managesBrokerAccess: Bool
    /// Whether people may sign up by themselves.
    package let letsPeopleSignUp: Bool
    /// The identity providers whose id tokens are accepted.
    package let providers: [LoginProvider: IdentityProvider]
    /// The broker address that boards should use from now on. Nil: they keep the address they have.
    package var brokerPlace: ConsumerAccess?
    /// The time over which boards spread actions that the whole fleet would do at once. Boards
    /// receive it from the authority; nil: they receive none.
    package var spread: @Sendable () -> Duration? = { nil }
    /// Whether people may log in and confirm with passwords.
    package var takesPasswords = true
    /// How many commands one board may get.
    package var commandRate = Rate(60, per: .minute)
    /// Where the boards' sensors are announced to Home Assistant. Nil: nowhere.
    package var discovery: TopicRoot?

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
    /// The largest clock error of a board. Beyond it, the authority does not look at the board's
    /// tokens.
    static let clockTolerance = Duration.seconds(300)
    /// How long after its end a claim may still turn out to have been accepted in time.
    static let claimGrace = Duration.seconds(600)
    /// The longest time that a login outlives its session, so that the board can learn of the end.
    static let longestEndNotice = Duration.seconds(30 * 86_400)
    /// How long a renewal waits for its board, which may be off.
    static let renewalLifetime = Duration.seconds(30 * 86_400)
    /// How long ended sessions are kept, so that people can see how they ended.
    static let memory = Duration.seconds(30 * 86_400)
    /// How long audit entries are kept.
    static let auditMemory = Duration.seconds(365 * 86_400)
    /// How many replies of one board stay when old replies are trimmed.
    static let repliesOfBoard = 256
    /// Old replies are trimmed for this many of 256 new replies.
    static let trimmingChance: UInt8 = 8
}

extension Authority {
    func hash(of secret: SecretBytes) throws(AuthorityError) -> [UInt8] {
        try cryptography.hmac(secret.reveal(), key: keys.tokenHash)
    }

    func newObjectID() throws(AuthorityError) -> ObjectID {
        guard let id = ObjectID(random: try cryptography.random(64)) else {
            throw .failed(layer: "crypto", text: "the random numbers are not random")
        }
        return id
    }

    func newUserID() throws(AuthorityError) -> UserID {
        guard let id = UserID(random: try cryptography.random(64)) else {
            throw .failed(layer: "crypto", text: "the random numbers are not random")
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

/// Each call is in the folder of its subject.
extension Authority: AuthorityFrontend {}
