import AgentCore
import AgentCryptography
import AuthorityCore
import Cryptography
import Sessions
import Synchronization
import WebAuthn
import Wire

@testable import AuthorityService

/// Whether messages are sealed by OpenSSL, or only noted as sealed: who may open which is the
/// same, and the random schedules are ten times as many in the time.
enum Sealing: Sendable { case real, symbolic }

/// The agent's cryptography, its randomness drawn from the run's lot.
struct SimulatedBoardCryptography: BoardCryptography {
    let sealing: Sealing
    private let real = Cryptographer()

    init(_ sealing: Sealing) { self.sealing = sealing }

    func random(_ count: Int) -> [UInt8] { Lot.current.bytes(count) }

    func makeDeviceKey() throws(CryptographyFailure) -> (secret: SecretBytes, key: [UInt8]) {
        try real.makeDeviceKey()
    }

    func keyID(of key: [UInt8]) throws(CryptographyFailure) -> KeyID { try real.keyID(of: key) }

    func holdsCertificates(_ pem: String) -> Bool { real.holdsCertificates(pem) }

    func digest(_ bytes: [UInt8]) throws(CryptographyFailure) -> [UInt8] {
        try real.digest(bytes)
    }

    func derive(
        _ purpose: ClaimPurpose, from secret: SecretBytes, board: InstallationID
    ) throws(CryptographyFailure) -> SecretBytes {
        try real.derive(purpose, from: secret, board: board)
    }

    func seal(
        _ plaintext: [UInt8], to key: [UInt8], from device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> SealedEnvelope {
        guard sealing == .symbolic else {
            return try real.seal(plaintext, to: key, from: device, topic: topic)
        }
        return Symbols.seal(
            plaintext, .auth, to: key, try keyID(of: key), proof: Symbols.publicKey(of: device),
            topic: topic)
    }

    func seal(
        _ plaintext: [UInt8], to key: [UInt8], claimKey: SecretBytes, id: InstallationID,
        topic: String
    ) throws(CryptographyFailure) -> SealedEnvelope {
        guard sealing == .symbolic else {
            return try real.seal(plaintext, to: key, claimKey: claimKey, id: id, topic: topic)
        }
        return Symbols.seal(
            plaintext, .psk, to: key, try keyID(of: key),
            proof: claimKey.reveal() + Array(id.description.utf8), topic: topic)
    }

    func open(
        _ envelope: SealedEnvelope, from sender: [UInt8], with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8] {
        guard sealing == .symbolic else {
            return try real.open(envelope, from: sender, with: device, topic: topic)
        }
        guard let plaintext = Symbols.open(
            envelope, .auth, with: Symbols.publicKey(of: device), proof: sender, topic: topic)
        else { throw .notAuthentic }
        return plaintext
    }

    func open(
        _ envelope: SealedEnvelope, claimKey: SecretBytes, board: InstallationID,
        with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8] {
        guard sealing == .symbolic else {
            return try real.open(
                envelope, claimKey: claimKey, board: board, with: device, topic: topic)
        }
        guard let plaintext = Symbols.open(
            envelope, .psk, with: Symbols.publicKey(of: device),
            proof: claimKey.reveal() + Array(board.description.utf8), topic: topic)
        else { throw .notAuthentic }
        return plaintext
    }

    func verify(
        _ token: AccessToken, keys: [SigningKey]
    ) throws(CryptographyFailure) -> AccessTokenClaims {
        guard sealing == .symbolic else { return try real.verify(token, keys: keys) }
        guard let (claims, key) = Lot.current.token(token.reveal()) else { throw .notAuthentic }
        guard keys.contains(key) else { throw .unknownKey }
        return claims
    }
}

/// The authority's cryptography, its randomness drawn from the run's lot. Passwords are not
/// hashed: people's logins are not what is tried here.
struct SimulatedAuthorityCryptography: AuthorityCryptography {
    let sealing: Sealing
    private static let real = SystemCryptography()
    private var real: SystemCryptography { Self.real }

    init(_ sealing: Sealing) { self.sealing = sealing }

    func random(_ count: Int) -> [UInt8] { Lot.current.bytes(count) }

    func sha256(_ message: [UInt8]) throws(AuthorityError) -> [UInt8] {
        try real.sha256(message)
    }

    func hmac(_ message: [UInt8], key: SecretBytes) throws(AuthorityError) -> [UInt8] {
        try real.hmac(message, key: key)
    }

    func claimKeys(
        secret: SecretBytes, board: InstallationID
    ) throws(AuthorityError) -> ClaimKeys {
        try real.claimKeys(secret: secret, board: board)
    }

    func sealProvision(
        _ plaintext: [UInt8], to board: RecipientKey, claim: ClaimKeys, topic: String
    ) throws(AuthorityError) -> [UInt8] {
        guard sealing == .symbolic else {
            return try real.sealProvision(plaintext, to: board, claim: claim, topic: topic)
        }
        return Symbols.seal(
            plaintext, .psk, to: board.key, try keyID(of: board.key),
            proof: claim.psk.reveal() + Array(board.board.description.utf8), topic: topic
        ).payload
    }

    func seal(
        _ plaintext: [UInt8], to board: RecipientKey, from key: SealKey, topic: String
    ) throws(AuthorityError) -> [UInt8] {
        guard sealing == .symbolic else {
            return try real.seal(plaintext, to: board, from: key, topic: topic)
        }
        return Symbols.seal(
            plaintext, .auth, to: board.key, try keyID(of: board.key), proof: key.publicKey,
            topic: topic
        ).payload
    }

    func open(
        _ envelope: SealedEnvelope, from deviceKey: [UInt8], with key: SealKey, topic: String
    ) -> [UInt8]? {
        guard sealing == .symbolic else {
            return real.open(envelope, from: deviceKey, with: key, topic: topic)
        }
        return Symbols.open(
            envelope, .auth, with: key.publicKey, proof: deviceKey, topic: topic)
    }

    /// Nobody prepares claims here.
    func openJoin(
        _ envelope: SealedEnvelope, claim: ClaimKeys, id: InstallationID, with key: SealKey,
        topic: String
    ) -> [UInt8]? { nil }

    func fingerprint(ofCertificate pem: String) -> CertificateFingerprint? { nil }

    func sign(
        _ claims: AccessTokenClaims, with key: TokenSigningKey
    ) throws(AuthorityError) -> AccessToken {
        guard sealing == .symbolic else { return try real.sign(claims, with: key) }
        let text = "eyJ" + Base64URL.encode(random(24))
        Lot.current.keep(text, claims.inWholeSeconds, key.publicKey)
        return AccessToken(unchecked: SecretBytes(Array(text.utf8)))
    }

    /// Nobody brings tokens here.
    func claims(
        of token: AccessToken, signedBy keys: [SigningKey]
    ) throws(AccessTokenFault) -> [UInt8] { throw .unknownKey }

    func isUsable(_ key: PasskeyKey) -> Bool { real.isUsable(key) }
    func verify(_ signature: [UInt8], of message: [UInt8], by key: PasskeyKey) -> Bool {
        real.verify(signature, of: message, by: key)
    }

    func hashPassword(_ password: SecretBytes) async -> String { "not hashed" }
    func isOutdated(passwordHash: String) -> Bool { false }
    func verifyPassword(_ password: SecretBytes, against hash: String?) async -> Bool { true }

    private func keyID(of key: [UInt8]) throws(AuthorityError) -> KeyID {
        KeyID(digest: try sha256(key))
    }
}

/// Sealing without a cipher: the lot knows what is in an envelope, and gives it to whoever
/// has the keys and the topic that it was sealed with. The envelope itself says nothing.
private enum Symbols {
    private static let known = Mutex<[[UInt8]: [UInt8]]>([:])

    static func seal(
        _ plaintext: [UInt8], _ mode: SealedEnvelope.Mode, to recipient: [UInt8], _ id: KeyID,
        proof: [UInt8], topic: String
    ) -> SealedEnvelope {
        let envelope = SealedEnvelope(
            mode: mode, to: id, enc: Lot.current.bytes(32), ct: [UInt8](repeating: 0, count: 16))
        Lot.current.keep(Lot.Seal(
            plaintext: plaintext, envelope: envelope, proof: proof, recipient: recipient,
            topic: topic))
        return envelope
    }

    static func open(
        _ envelope: SealedEnvelope, _ mode: SealedEnvelope.Mode, with recipient: [UInt8],
        proof: [UInt8], topic: String
    ) -> [UInt8]? {
        guard envelope.mode == mode, let seal = Lot.current.seal(of: envelope),
            seal.recipient == recipient, seal.proof == proof, seal.topic == topic
        else { return nil }
        return seal.plaintext
    }

    static func publicKey(of secret: SecretBytes) -> [UInt8] {
        let bytes = secret.reveal()
        if let key = known.withLock({ $0[bytes] }) { return key }
        let made = try? X25519PrivateKey(rawRepresentation: secret)
        let key = made?.publicKey.rawRepresentation ?? []
        known.withLock { $0[bytes] = key }
        return key
    }
}

extension AccessTokenClaims {
    /// As they come out of a token: times are whole seconds there.
    fileprivate var inWholeSeconds: Self {
        var claims = self
        claims.issuedAt = Timestamp(milliseconds: issuedAt.seconds * 1000)
        claims.notBefore = Timestamp(milliseconds: notBefore.seconds * 1000)
        claims.expiresAt = Timestamp(milliseconds: expiresAt.seconds * 1000)
        return claims
    }
}
