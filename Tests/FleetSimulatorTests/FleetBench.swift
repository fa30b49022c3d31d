import AgentCore
import Cryptography
@testable import FleetSimulator
import Gate
import MQTT
import Sessions
import Testing
import Wire

/// A simulated board, and an authority that says what a test tells it to.
struct FleetBench {
    var board: FleetBoard
    var tally = FleetTally()
    var random = SeededRandom(seed: 1)
    var now = Duration.seconds(1000)
    let book = TelemetryRecord()
    let session: Session
    private let sealKey: X25519PrivateKey
    private let signKey: Ed25519PrivateKey
    private let claim: ClaimURL
    private let user: UserProfile

    static let epoch = Timestamp(milliseconds: 1_800_000_000_000)

    /// A board that is connected and has its session, and its first heartbeat.
    init(_ faults: FaultPlan = FaultPlan(), telemetry: Duration? = nil) throws {
        var plan = FleetPlan(
            boards: 1, root: .standard, uri: try BrokerURI("mqtt://127.0.0.1"),
            tls: TLSOptions(), version: "1", wall: { Self.epoch })
        (plan.faults, plan.telemetry, plan.spread) = (faults, telemetry, .zero)
        board = try FleetBoard(
            plan, book: book, at: Instant(wall: Self.epoch, monotonic: .seconds(1000)))
        sealKey = try X25519PrivateKey()
        signKey = try Ed25519PrivateKey()
        claim = try ClaimURL(board.claimURL)
        user = UserProfile(objectID: try #require(UserID("aaaaaaaaaa")), username: "ada")
        session = Session(
            objectID: try #require(ObjectID("bbbbbbbbbb")), user: user.objectID, restricted: true,
            createdWith: CreatedWith(action: "create", authProvider: "masterkey"),
            installationID: claim.installation, createdAt: Self.epoch, expiresAt: nil)
        board.start(at: moment, &tally)
        connect()
        hear(try provision())
        let heartbeat = try #require(said().last)
        hear(try answer(heartbeat), mayFail: false)
        _ = try said()
    }

    var moment: Instant { Instant(wall: Self.epoch + (now - .seconds(1000)), monotonic: now) }

    mutating func connect() {
        board.connectionChanged(.connected, at: moment, &tally)
        board.connectionChanged(.ready, at: moment, &tally)
    }

    mutating func begin(_ pace: RequestPace, span: Duration = .seconds(100)) {
        board.begin(FleetLoad(span: span, pace: pace), &random, at: moment, &tally)
    }

    /// What the board says to its authority once so much time has gone by.
    mutating func wake(after span: Duration) throws -> [BoardMessage] {
        now += span
        board.wake(at: moment, &tally)
        return try said()
    }

    mutating func hear(_ payload: [UInt8], mayFail: Bool = true) {
        board.hear(payload, mayFail: mayFail, &random, at: moment, &tally)
    }

    /// What was published since the last call.
    mutating func published() -> [(message: OutgoingMessage, sequence: Int64?)] {
        defer { board.orders.removeAll() }
        return board.orders.compactMap { order in
            guard case .publish(let message, let sequence) = order else { return nil }
            return (message, sequence)
        }
    }

    private mutating func said() throws -> [BoardMessage] {
        try published().filter { $0.message.topic == board.outbox }.map { each in
            let envelope = try SealedEnvelope(parsing: each.message.payload)
            return try BoardMessage(parsing: try HPKE.openAuth(
                HPKE.Sealed(enc: envelope.enc, ct: envelope.ct), with: sealKey,
                from: X25519PublicKey(rawRepresentation: claim.deviceKey),
                info: SealedEnvelope.info, aad: Array(board.outbox.utf8)))
        }
    }
}

// What the authority says.
extension FleetBench {
    private func accessToken() throws -> AccessToken {
        let device = try X25519PublicKey(rawRepresentation: claim.deviceKey)
        let claims = AccessTokenClaims(
            issuer: "test", subject: user.objectID, issuedAt: moment.wall,
            expiresAt: moment.wall + .seconds(3600), tokenID: "t", session: session.objectID,
            installation: claim.installation, scope: nil, deviceKey: device.keyID)
        let text = try JWS.sign(
            header: AccessTokenHeader(kid: sealKey.publicKey.keyID).bytes,
            payload: claims.bytes, with: signKey)
        return try #require(AccessToken(text))
    }

    private func provision() throws -> [UInt8] {
        let provision = Provision(
            sequence: 1, expiresAt: Self.epoch + .seconds(60),
            authority: PinnedAuthority(
                name: "test", sealKey: sealKey.publicKey.rawRepresentation,
                signKeys: [
                    SigningKey(
                        kid: sealKey.publicKey.keyID, key: signKey.publicKey.rawRepresentation),
                ]),
            session: session, user: user,
            tokens: SessionTokens(
                session: try #require(SessionToken("r:s")), access: try accessToken(),
                refresh: try #require(RefreshToken("rt:0"))),
            scope: nil, heartbeat: .seconds(180), offline: .seconds(86_400), broker: nil)
        let device = try X25519PublicKey(rawRepresentation: claim.deviceKey)
        let id = Array(claim.installation.description.utf8)
        let key = try HKDFSHA256.derive(
            from: claim.secret, salt: id, info: Array(ClaimPurpose.claim.rawValue.utf8),
            count: 32)
        let sealed = try HPKE.sealPSK(
            message(.provision(provision)).plaintext, to: device, info: SealedEnvelope.info,
            aad: Array(board.inbox.utf8), psk: HPKE.PreSharedKey(key: key, id: id))
        return SealedEnvelope(
            mode: .psk, to: device.keyID, enc: sealed.enc, ct: sealed.ct).payload
    }

    private func message(_ body: AuthorityMessage.Body) throws -> AuthorityMessage {
        AuthorityMessage(
            id: MessageID(random: try RandomBytes.make(16)), issuedAt: moment.wall, body: body)
    }

    func sealed(_ body: AuthorityMessage.Body) throws -> [UInt8] {
        let device = try X25519PublicKey(rawRepresentation: claim.deviceKey)
        let sealed = try HPKE.sealAuth(
            message(body).plaintext, to: device, from: sealKey, info: SealedEnvelope.info,
            aad: Array(board.inbox.utf8))
        return SealedEnvelope(
            mode: .auth, to: device.keyID, enc: sealed.enc, ct: sealed.ct).payload
    }

    func answer(_ request: BoardMessage, token: String? = nil) throws -> [UInt8] {
        var result = Reply.Result()
        (result.session, result.user) = (session, user)
        result.refreshToken = token.flatMap { RefreshToken($0) }
        if token != nil { result.accessToken = try accessToken() }
        return try sealed(.reply(Reply(re: request.id, now: moment.wall, outcome: .result(result))))
    }

    func refusal(_ id: MessageID, _ code: ErrorCode) throws -> [UInt8] {
        try sealed(.reply(Reply(re: id, now: moment.wall, outcome: .error(Refusal(code, "no")))))
    }
}
