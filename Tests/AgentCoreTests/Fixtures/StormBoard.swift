@testable import AgentCore
import Gate
import Sessions
import Testing
import Wire

/// One board of a fleet: an agent that holds a session, and what its authority would answer.
struct StormBoard {
    static let start = Timestamp(milliseconds: 1_800_000_000_000)
    private static let accessLife = Duration.seconds(600)

    var agent: Agent
    /// Whether the broker has it.
    var isUp = false
    /// The tick at which it is looked at next.
    var wakes = Int.max
    private let session: Session
    private let user: UserProfile
    private let installation: InstallationID

    /// - Parameter age: how old its access token is at `start`.
    init(_ cryptography: PlainCryptography, age: Duration, spread: Duration?) throws {
        installation = InstallationID(random: cryptography.random(16))
        let userID = try #require(UserID("ann0000000"))
        session = Session(
            objectID: try #require(ObjectID("Session001")), user: userID, restricted: true,
            createdWith: CreatedWith(action: "create", authProvider: "password"),
            installationID: installation, createdAt: Self.start + .zero - age,
            expiresAt: Self.start + .seconds(86_400))
        user = UserProfile(objectID: userID, username: "ann")
        let key = [UInt8](repeating: 7, count: 32)
        var records = BoardRecords(identity: BoardIdentity(
            installation: installation, deviceSecret: SecretBytes(key), deviceKey: key))
        let claims = Self.claims(session, installation, at: Self.start + .zero - age)
        records.session = HeldSession(
            session: session, user: user,
            tokens: SessionTokens(
                session: try #require(SessionToken("r:s")),
                access: PlainCryptography.token(claims),
                refresh: try #require(RefreshToken("rt:1"))),
            scope: nil, heartbeat: .seconds(180), offline: .seconds(7 * 86_400),
            lastContact: Self.start, pendingRefresh: nil, sessions: nil)
        records.trust = Trust(
            authority: PinnedAuthority(
                name: "Fleet", sealKey: key,
                signKeys: [SigningKey(kid: PlainCryptography.keyID, key: key)]),
            broker: BrokerAccess(
                uri: nil, username: nil, password: SecretBytes(key), ca: nil),
            firstPassword: nil, firstUsername: nil, highestSequence: 1,
            provision: MessageID(random: cryptography.random(16)), session: session.objectID,
            payloadDigest: key, isAcknowledged: true, user: userID, issuer: "Fleet",
            spread: spread)
        agent = Agent(
            settings: AgentSettings(
                name: "b", topicRoot: .standard, claimBase: ClaimURL.defaultBase,
                claimLifetime: .seconds(86_400), offline: nil, routes: RouteTable(),
                queueLimit: 100_000, queueReserve: 1000, version: "1.0",
                buildDate: Timestamp(milliseconds: 1_700_000_000_000), processID: 42),
            cryptography: cryptography, records: records, policy: nil, window: [],
            queue: QueueState())
    }

    static func instant(_ time: Duration) -> Instant {
        Instant(wall: start + time, monotonic: .seconds(1000) + time)
    }

    private static func claims(
        _ session: Session, _ installation: InstallationID, at time: Timestamp
    ) -> AccessTokenClaims {
        AccessTokenClaims(
            issuer: "Fleet", subject: session.user, issuedAt: time,
            expiresAt: time + accessLife, tokenID: "t", session: session.objectID,
            installation: installation, scope: nil, deviceKey: PlainCryptography.keyID)
    }

    /// The inbox payload that answers a request.
    func reply(
        to request: MessageID, isRefresh: Bool, at time: Duration, error: Refusal? = nil
    ) -> [UInt8] {
        let now = Self.start + time
        var result = Reply.Result()
        result.session = session
        if isRefresh {
            let claims = Self.claims(session, installation, at: now)
            result.accessToken = PlainCryptography.token(claims)
            result.refreshToken = RefreshToken("rt:2")
        } else {
            result.user = user
        }
        let outcome: Reply.Outcome = error.map { .error($0) } ?? .result(result)
        let message = AuthorityMessage(
            id: request, issuedAt: now,
            body: .reply(Reply(re: request, now: now, outcome: outcome)))
        return PlainCryptography.seal(message.plaintext).payload
    }
}
