package import Sessions
package import Wire

/// A claim that a person prepared for a board that is not known yet. The board asks to join with
/// the claim's file, and a person accepts it.
package struct PreparedClaimRecord: Sendable {
    package enum State: String, Sendable, CaseIterable {
        /// No board has come yet.
        case prepared
        /// A board asks to join.
        case asking
        /// A claim of the board was made.
        case accepted
        case ended
    }

    /// The board that came first. Its parts are those of a claim URL.
    package struct Board: Sendable {
        package let installation: InstallationID
        package let deviceKey: [UInt8]
        package let name: String
        /// Nil when no claim may be made of it any more.
        package var secret: SecretBytes?
        /// Digests of the claim secrets that the board had before, 8 bytes each, at most 64. So a
        /// replayed request does not bring one of them back.
        package var formerSecrets: [UInt8]
        package let askedAt: Timestamp
        /// When it last had a new claim secret.
        package var renewedAt: Timestamp?

        package init(
            installation: InstallationID, deviceKey: [UInt8], name: String,
            secret: SecretBytes?, formerSecrets: [UInt8] = [], askedAt: Timestamp,
            renewedAt: Timestamp? = nil
        ) {
            self.installation = installation
            self.deviceKey = deviceKey
            self.name = name
            self.secret = secret
            self.formerSecrets = formerSecrets
            self.askedAt = askedAt
            self.renewedAt = renewedAt
        }
    }

    /// What a claim of the board will be like.
    package struct Terms: Equatable, Sendable {
        package let labels: [BoardLabel]
        package let scope: ScopeText?
        /// How long the session lasts. Nil: the authority's own limit.
        package let duration: Duration?
        /// How the session of the person who prepared it began.
        package let asking: CreatedWith

        package init(
            labels: [BoardLabel], scope: ScopeText?, duration: Duration?, asking: CreatedWith
        ) {
            self.labels = labels
            self.scope = scope
            self.duration = duration
            self.asking = asking
        }
    }

    /// Has the form of an installation id, because it has that place in topics and logins.
    package let id: InstallationID
    /// The user who prepared it, and whose board it becomes.
    package let owner: UserID
    package let name: String
    package let terms: Terms
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    /// Derived from the file's secret, which is not kept. Nil once the file is void.
    package var keys: ClaimKeys?
    package var state: State
    /// Whether the first board is accepted at once. A try that failed ends this.
    package var acceptsAtOnce: Bool
    package var board: Board?
    /// The claim that was made of the board.
    package var claim: MessageID?
    /// When another board came with the same file.
    package var secondAt: Timestamp?
    /// When the file became void: ended by a person, or expired.
    package var endedAt: Timestamp?

    package init(
        id: InstallationID, owner: UserID, name: String, terms: Terms, createdAt: Timestamp,
        expiresAt: Timestamp, keys: ClaimKeys?, state: State = .prepared, acceptsAtOnce: Bool,
        board: Board? = nil, claim: MessageID? = nil, secondAt: Timestamp? = nil,
        endedAt: Timestamp? = nil
    ) {
        self.id = id
        self.owner = owner
        self.name = name
        self.terms = terms
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.keys = keys
        self.state = state
        self.acceptsAtOnce = acceptsAtOnce
        self.board = board
        self.claim = claim
        self.secondAt = secondAt
        self.endedAt = endedAt
    }

    /// The keys, while the file serves.
    func openKeys(at now: Timestamp) -> ClaimKeys? { expiresAt > now ? keys : nil }

    /// Makes the file void. The state stays, so that people see how far it came.
    mutating func close(at now: Timestamp) {
        keys = nil
        board?.secret = nil
        endedAt = now
    }
}

/// A join request whose sender has both the file and the device key.
struct OpenedJoin {
    let installation: InstallationID
    let deviceKey: [UInt8]
    let name: String
    let secret: SecretBytes
}

extension PreparedClaimRecord {
    /// The effect of a join request.
    enum Joining: Equatable { case nothing, asks, renewedSecret, second }

    private static let digestCount = 8
    private static let mostFormer = 64
    /// The shortest time between two new secrets.
    private static let renewalPause = Duration.seconds(60)

    /// Takes a join request that was opened with this claim's keys. `digest` is a keyed hash.
    mutating func take(
        _ request: OpenedJoin, at now: Timestamp,
        digest: (SecretBytes) throws(AuthorityError) -> [UInt8]
    ) throws(AuthorityError) -> Joining {
        guard var board else {
            board = Board(
                installation: request.installation, deviceKey: request.deviceKey,
                name: request.name, secret: request.secret, askedAt: now)
            state = .asking
            return .asks
        }
        guard board.installation == request.installation, board.deviceKey == request.deviceKey
        else {
            guard secondAt == nil else { return .nothing }
            secondAt = now
            return .second
        }
        // An accepted board has a secret here until it has accepted its claim.
        guard state == .asking || state == .accepted, let old = board.secret,
            !old.matches(request.secret),
            board.renewedAt.map({ $0 + Self.renewalPause <= now }) ?? true
        else { return .nothing }
        let new = Array(try digest(request.secret).prefix(Self.digestCount))
        guard !board.hasHad(new) else { return .nothing }
        let former = board.formerSecrets + Array(try digest(old).prefix(Self.digestCount))
        board.formerSecrets = Array(former.suffix(Self.mostFormer * Self.digestCount))
        board.secret = request.secret
        board.renewedAt = now
        self.board = board
        return .renewedSecret
    }
}

extension PreparedClaimRecord.Board {
    fileprivate func hasHad(_ digest: [UInt8]) -> Bool {
        stride(from: 0, to: formerSecrets.count, by: digest.count).contains { start in
            formerSecrets[start...].prefix(digest.count).elementsEqual(digest)
        }
    }
}

package enum PreparedClaimLimit {
    /// Claims of one request.
    package static let ofRequest = 100
    /// Claims of one user whose files serve.
    package static let ofUser = 1000
    /// Claims of one user that the store has, the former ones included.
    package static let ofUserKept = 5000
    /// How long a file serves, from now.
    package static let life = Duration.seconds(3600)...Duration.seconds(365 * 86_400)
    package static let usualLife = Duration.seconds(30 * 86_400)
    /// How long a claim is kept after its file became void.
    static let memory = Duration.seconds(30 * 86_400)
    /// The same for a claim with which no board came.
    static let unusedMemory = Duration.seconds(86_400)
}

package protocol PreparedClaimTable {
    func preparedClaim(_ id: InstallationID) throws(AuthorityError) -> PreparedClaimRecord?
    /// The one whose board this claim is for.
    func preparedClaim(
        claimedBy claim: MessageID
    ) throws(AuthorityError) -> PreparedClaimRecord?
    /// Those that were not ended: first those that serve and whose boards ask, then the others that
    /// serve, each with the newest first. Nil: of all users, with an equal share of `limit` for
    /// each.
    func preparedClaims(
        of owner: UserID?, limit: Int
    ) throws(AuthorityError) -> [PreparedClaimRecord]
    /// All of a user that have keys.
    func openPreparedClaims(of owner: UserID) throws(AuthorityError) -> [PreparedClaimRecord]
    /// How many a user has: those with keys, and all.
    func preparedClaimCounts(of owner: UserID) throws(AuthorityError) -> (open: Int, all: Int)
    /// All that have a client at the broker.
    func preparedClaimsWithLogin() throws(AuthorityError) -> [InstallationID]
    /// Those that expired before `time` and still have keys; at most `limit`.
    func preparedClaims(
        expiredBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> [PreparedClaimRecord]
    /// Those that were not ended, and with which a second board came; at most `limit`. The first
    /// of each user come before the second of any.
    func preparedClaimsUsedTwice(limit: Int) throws(AuthorityError) -> [PreparedClaimRecord]
    /// Inserts or replaces.
    func save(_ prepared: PreparedClaimRecord) throws(AuthorityError)
    /// Deletes at most `limit` and returns how many. `unused`: with which no board came.
    func deletePreparedClaims(
        endedBefore time: Timestamp, unusedBefore unused: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int
}
