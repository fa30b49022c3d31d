import AuthorityCore
import Cryptography
import Dispatch
import Sessions
import Synchronization
import Wire

/// The core's cryptography, built on OpenSSL.
///
/// Key agreements with boards are computed once and cached, up to a limit.
final class SystemCryptography: AuthorityCryptography {
    private static let keptAgreements = 65_536
    private let agreements = Mutex<[Pair: HPKE.Correspondence]>([:])
    /// The signing key that was used last. The first use of the next key frees it.
    private let signer = Mutex<Signer?>(nil)
    private let passwords = DispatchQueue(label: "passwords")
    /// The number of passwords that wait or are being hashed; at most `passwordRoom`.
    private let waitingPasswords = Mutex(0)
    private static let passwordRoom = 16

    private struct Pair: Hashable {
        let own: KeyID
        let peer: [UInt8]
    }

    private struct Signer {
        let kid: KeyID
        let key: Ed25519PrivateKey
    }

    func random(_ count: Int) throws(AuthorityError) -> [UInt8] {
        try attempt { () throws(CryptographyError) in try RandomBytes.make(count) }
    }

    func sha256(_ message: [UInt8]) throws(AuthorityError) -> [UInt8] {
        try attempt { () throws(CryptographyError) in try SHA256.digest(message) }
    }

    func hmac(_ message: [UInt8], key: SecretBytes) throws(AuthorityError) -> [UInt8] {
        try attempt { () throws(CryptographyError) in
            try HMACSHA256.authenticate(message, key: key)
        }
    }

    func claimKeys(
        secret: SecretBytes, board: InstallationID
    ) throws(AuthorityError) -> ClaimKeys {
        try attempt { () throws(CryptographyError) in
            let salt = Array(board.description.utf8)
            func derive(_ info: String) throws(CryptographyError) -> SecretBytes {
                try HKDFSHA256.derive(
                    from: secret, salt: salt, info: Array(info.utf8), count: 32)
            }
            let password = Base64URL.encode(try derive("postern/v1 broker").reveal())
            return ClaimKeys(
                brokerPassword: SecretBytes(Array(password.utf8)),
                psk: try derive("postern/v1 claim"))
        }
    }

    func sealProvision(
        _ plaintext: [UInt8], to board: RecipientKey, claim: ClaimKeys, topic: String
    ) throws(AuthorityError) -> [UInt8] {
        let recipient: X25519PublicKey
        do throws(CryptographyError) {
            recipient = try X25519PublicKey(rawRepresentation: board.key)
        } catch {
            throw .refused(Refusal(.validation, "the device key in this claim is not a valid key"))
        }
        return try attempt { () throws(CryptographyError) in
            let psk = HPKE.PreSharedKey(
                key: claim.psk, id: Array(board.board.description.utf8))
            let sealed = try HPKE.sealPSK(
                plaintext, to: recipient, info: SealedEnvelope.info, aad: Array(topic.utf8),
                psk: psk)
            return SealedEnvelope(
                mode: .psk, to: recipient.keyID, enc: sealed.enc, ct: sealed.ct).payload
        }
    }

    func seal(
        _ plaintext: [UInt8], to board: RecipientKey, from key: SealKey, topic: String
    ) throws(AuthorityError) -> [UInt8] {
        try attempt { () throws(CryptographyError) in
            let correspondence = try correspondence(key, board.key)
            let sealed = try correspondence.seal(
                plaintext, info: SealedEnvelope.info, aad: Array(topic.utf8))
            return SealedEnvelope(
                mode: .auth, to: correspondence.peer.keyID, enc: sealed.enc, ct: sealed.ct).payload
        }
    }

    func open(
        _ envelope: SealedEnvelope, from deviceKey: [UInt8], with key: SealKey, topic: String
    ) -> [UInt8]? {
        let sealed = HPKE.Sealed(enc: envelope.enc, ct: envelope.ct)
        do throws(CryptographyError) {
            return try correspondence(key, deviceKey).open(
                sealed, info: SealedEnvelope.info, aad: Array(topic.utf8))
        } catch {
            return nil
        }
    }

    func openJoin(
        _ envelope: SealedEnvelope, claim: ClaimKeys, id: InstallationID, with key: SealKey,
        topic: String
    ) -> [UInt8]? {
        do throws(CryptographyError) {
            return try HPKE.openPSK(
                HPKE.Sealed(enc: envelope.enc, ct: envelope.ct),
                with: X25519PrivateKey(rawRepresentation: key.privateKey),
                info: SealedEnvelope.info, aad: Array(topic.utf8),
                psk: HPKE.PreSharedKey(key: claim.psk, id: Array(id.description.utf8)))
        } catch {
            return nil
        }
    }

    func fingerprint(ofCertificate pem: String) -> CertificateFingerprint? {
        do throws(CryptographyError) {
            let chain = try Certificate.chain(pem: Array(pem.utf8))
            guard chain.count == 1, let certificate = chain.first else { return nil }
            return CertificateFingerprint(bytes: certificate.sha256)
        } catch {
            return nil
        }
    }

    private func correspondence(
        _ key: SealKey, _ peer: [UInt8]
    ) throws(CryptographyError) -> HPKE.Correspondence {
        let pair = Pair(own: key.id, peer: peer)
        if let known = agreements.withLock({ $0[pair] }) { return known }
        let made = try HPKE.Correspondence(
            own: X25519PrivateKey(rawRepresentation: key.privateKey),
            peer: X25519PublicKey(rawRepresentation: peer))
        agreements.withLock { kept in
            if kept.count >= Self.keptAgreements { kept.removeAll(keepingCapacity: true) }
            kept[pair] = made
        }
        return made
    }

    func sign(
        _ claims: AccessTokenClaims, with key: TokenSigningKey
    ) throws(AuthorityError) -> AccessToken {
        try attempt { () throws(CryptographyError) in
            let header = AccessTokenHeader(kid: key.publicKey.kid).bytes
            let text = try JWS.sign(header: header, payload: claims.bytes, with: signer(key))
            return AccessToken(unchecked: SecretBytes(Array(text.utf8)))
        }
    }

    private func signer(_ key: TokenSigningKey) throws(CryptographyError) -> Ed25519PrivateKey {
        let kid = key.publicKey.kid
        if let known = signer.withLock({ $0?.kid == kid ? $0?.key : nil }) { return known }
        let made = try Ed25519PrivateKey(rawRepresentation: key.privateKey)
        signer.withLock { $0 = Signer(kid: kid, key: made) }
        return made
    }

    // Passwords are hashed one at a time, on their own thread. Beyond the limit a call is refused.

    func hashPassword(_ password: SecretBytes) async throws(AuthorityError) -> String {
        try await apart { () throws(CryptographyError) in
            try PasswordHash.make(password).phc
        }
    }

    func isOutdated(passwordHash: String) -> Bool {
        PasswordHash(phc: passwordHash)?.isOutdated ?? false
    }

    func verifyPassword(
        _ password: SecretBytes, against hash: String?
    ) async throws(AuthorityError) -> Bool {
        try await apart { () throws(CryptographyError) in
            guard let hash, let stored = PasswordHash(phc: hash) else {
                return try PasswordHash.verifyNobody(password)
            }
            return try stored.verify(password)
        }
    }

    private func apart<R: Sendable>(
        _ work: @escaping @Sendable () throws(CryptographyError) -> R
    ) async throws(AuthorityError) -> R {
        let isTaken = waitingPasswords.withLock { count in
            guard count < Self.passwordRoom else { return false }
            count += 1
            return true
        }
        guard isTaken else { throw .refused(.overloaded) }
        defer { waitingPasswords.withLock { $0 -= 1 } }
        let result: Result<R, CryptographyError> = await withCheckedContinuation { waiting in
            passwords.async {
                waiting.resume(returning: Result { () throws(CryptographyError) in try work() })
            }
        }
        return try attempt { () throws(CryptographyError) in try result.get() }
    }

    private func attempt<R>(
        _ work: () throws(CryptographyError) -> R
    ) throws(AuthorityError) -> R {
        do {
            return try work()
        } catch {
            throw .failed(layer: "crypto", text: error.words)
        }
    }
}

extension CryptographyError {
    var words: String {
        switch self {
        case .malformed: "malformed value"
        case .notAuthentic: "not authentic"
        case .openSSL(let text): text
        }
    }
}
