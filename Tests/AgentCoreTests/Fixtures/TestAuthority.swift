import AgentCore
import AgentCryptography
import Cryptography
import Gate
import Sessions
import Testing
import Wire

/// An authority in a few lines: it seals, signs and opens, and keeps no books.
struct TestAuthority {
    let sealKey: X25519PrivateKey
    let signKey: Ed25519PrivateKey
    let kid: KeyID
    /// Where its messages to the board go.
    let board: BoardIdentity

    init(board: BoardIdentity, kid: String = "k1") throws {
        sealKey = try X25519PrivateKey()
        signKey = try Ed25519PrivateKey()
        self.kid = KeyID(kid) ?? KeyID(digest: [])
        self.board = board
    }

    var pinned: PinnedAuthority {
        PinnedAuthority(
            name: "Home", sealKey: sealKey.publicKey.rawRepresentation,
            signKeys: [SigningKey(kid: kid, key: signKey.publicKey.rawRepresentation)])
    }

    /// A well-formed provisioning for a user, which a test may spoil.
    func provision(
        _ name: String = "ann", session: String = "Session001", sequence: Int64 = 100,
        at now: Timestamp = Bench.start
    ) throws -> Provision {
        let user = try #require(UserID(name + String(repeating: "0", count: 10 - name.count)))
        let session = Session(
            objectID: try #require(ObjectID(session)), user: user, restricted: true,
            createdWith: CreatedWith(action: "create", authProvider: "password"),
            installationID: board.installation, createdAt: now, expiresAt: now + .seconds(86_400))
        return Provision(
            sequence: sequence, expiresAt: now + .seconds(3600), authority: pinned,
            session: session, user: UserProfile(objectID: user, username: name),
            tokens: try tokens(for: session, generation: 1, at: now), scope: nil,
            heartbeat: .seconds(180), offline: .seconds(7200),
            broker: BrokerAccess(
                uri: nil, username: nil,
                password: SecretBytes(Array("broker-password-\(name)".utf8)), ca: nil))
    }

    /// Three tokens whose texts name session and generation, so that a leak is seen.
    func tokens(
        for session: Session, generation: Int, at now: Timestamp, life: Duration = .seconds(3600)
    ) throws -> SessionTokens {
        let name = "\(session.objectID)-\(generation)"
        let access = try accessToken(claims(for: session, generation, at: now, life: life))
        return SessionTokens(
            session: try #require(SessionToken("r:secret-\(session.objectID)")),
            access: try #require(AccessToken(access)),
            refresh: try #require(RefreshToken("rt:secret-\(name)")))
    }

    func claims(
        for session: Session, _ generation: Int = 1, at now: Timestamp,
        life: Duration = .seconds(3600)
    ) throws -> AccessTokenClaims {
        AccessTokenClaims(
            issuer: "Home", subject: session.user, issuedAt: now, expiresAt: now + life,
            tokenID: "t\(generation)", session: session.objectID,
            installation: board.installation, scope: nil,
            deviceKey: try Cryptographer().keyID(of: board.deviceKey))
    }

    func accessToken(_ claims: AccessTokenClaims, header: [UInt8]? = nil) throws -> String {
        try JWS.sign(
            header: header ?? AccessTokenHeader(kid: kid).bytes, payload: claims.bytes,
            with: signKey)
    }

    /// The inbox payload of a message under the claim secret.
    func seal(
        _ body: AuthorityMessage.Body, claim: SecretBytes, id: MessageID = .fresh(),
        at now: Timestamp = Bench.start, topic: String? = nil
    ) throws -> [UInt8] {
        let key = try Cryptographer().derive(.claim, from: claim, board: board.installation)
        let recipient = try X25519PublicKey(rawRepresentation: board.deviceKey)
        let message = AuthorityMessage(id: id, issuedAt: now, body: body)
        let sealed = try HPKE.sealPSK(
            message.plaintext, to: recipient, info: SealedEnvelope.info,
            aad: Array((topic ?? inbox).utf8),
            psk: HPKE.PreSharedKey(key: key, id: Array(board.installation.description.utf8)))
        return SealedEnvelope(mode: .psk, to: recipient.keyID, enc: sealed.enc, ct: sealed.ct)
            .payload
    }

    /// The inbox payload of a message from the authority's own key.
    func seal(
        _ body: AuthorityMessage.Body, id: MessageID = .fresh(), at now: Timestamp = Bench.start,
        topic: String? = nil
    ) throws -> [UInt8] {
        let message = AuthorityMessage(id: id, issuedAt: now, body: body)
        return try Cryptographer().seal(
            message.plaintext, to: board.deviceKey, from: sealKey.rawRepresentation,
            topic: topic ?? inbox
        ).payload
    }

    /// What the board has sent; throws unless it was sealed to this authority by this board.
    func open(_ payload: [UInt8], topic: String) throws -> BoardMessage {
        let envelope = try SealedEnvelope(parsing: payload)
        let plaintext = try Cryptographer().open(
            envelope, from: board.deviceKey, with: sealKey.rawRepresentation, topic: topic)
        return try BoardMessage(parsing: plaintext)
    }

    private var inbox: String { ContractTopic.inbox(board.installation).text(under: .standard) }
}

extension MessageID {
    /// A random id; all zero should the library fail.
    static func fresh() -> MessageID {
        let bytes = try? Cryptographer().random(16)
        return MessageID(random: bytes ?? [UInt8](repeating: 0, count: 16))
    }
}
