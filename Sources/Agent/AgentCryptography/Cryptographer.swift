package import AgentCore
import Cryptography
package import Sessions
package import Wire

/// The agent's cryptography, with OpenSSL.
package struct Cryptographer: BoardCryptography {
    package init() {}

    package func random(_ count: Int) throws(CryptographyFailure) -> [UInt8] {
        try Self.asked { () throws(CryptographyError) in try RandomBytes.make(count) }
    }

    package func makeDeviceKey(
    ) throws(CryptographyFailure) -> (secret: SecretBytes, key: [UInt8]) {
        let key = try Self.asked { () throws(CryptographyError) in try X25519PrivateKey() }
        return (key.rawRepresentation, key.publicKey.rawRepresentation)
    }

    package func keyID(of key: [UInt8]) throws(CryptographyFailure) -> KeyID {
        try Self.asked { () throws(CryptographyError) in
            try X25519PublicKey(rawRepresentation: key).keyID
        }
    }

    package func holdsCertificates(_ pem: String) -> Bool {
        (try? Certificate.chain(pem: Array(pem.utf8))) != nil
    }

    package func digest(_ bytes: [UInt8]) throws(CryptographyFailure) -> [UInt8] {
        try Self.asked { () throws(CryptographyError) in try SHA256.digest(bytes) }
    }

    package func derive(
        _ purpose: ClaimPurpose, from secret: SecretBytes, board: InstallationID
    ) throws(CryptographyFailure) -> SecretBytes {
        try Self.asked { () throws(CryptographyError) in
            try HKDFSHA256.derive(
                from: secret, salt: Array(board.description.utf8),
                info: Array(purpose.rawValue.utf8), count: 32)
        }
    }

    package func seal(
        _ plaintext: [UInt8], to key: [UInt8], from device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> SealedEnvelope {
        try Self.asked { () throws(CryptographyError) in
            let recipient = try X25519PublicKey(rawRepresentation: key)
            let sealed = try HPKE.sealAuth(
                plaintext, to: recipient, from: try X25519PrivateKey(rawRepresentation: device),
                info: SealedEnvelope.info, aad: Array(topic.utf8))
            return SealedEnvelope(
                mode: .auth, to: recipient.keyID, enc: sealed.enc, ct: sealed.ct)
        }
    }

    package func seal(
        _ plaintext: [UInt8], to key: [UInt8], claimKey: SecretBytes, id: InstallationID,
        topic: String
    ) throws(CryptographyFailure) -> SealedEnvelope {
        try Self.asked { () throws(CryptographyError) in
            let recipient = try X25519PublicKey(rawRepresentation: key)
            let sealed = try HPKE.sealPSK(
                plaintext, to: recipient, info: SealedEnvelope.info, aad: Array(topic.utf8),
                psk: HPKE.PreSharedKey(key: claimKey, id: Array(id.description.utf8)))
            return SealedEnvelope(mode: .psk, to: recipient.keyID, enc: sealed.enc, ct: sealed.ct)
        }
    }

    package func open(
        _ envelope: SealedEnvelope, from sender: [UInt8], with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8] {
        try Self.asked { () throws(CryptographyError) in
            try HPKE.openAuth(
                HPKE.Sealed(enc: envelope.enc, ct: envelope.ct),
                with: try X25519PrivateKey(rawRepresentation: device),
                from: try X25519PublicKey(rawRepresentation: sender),
                info: SealedEnvelope.info, aad: Array(topic.utf8))
        }
    }

    package func open(
        _ envelope: SealedEnvelope, claimKey: SecretBytes, board: InstallationID,
        with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8] {
        try Self.asked { () throws(CryptographyError) in
            try HPKE.openPSK(
                HPKE.Sealed(enc: envelope.enc, ct: envelope.ct),
                with: try X25519PrivateKey(rawRepresentation: device),
                info: SealedEnvelope.info, aad: Array(topic.utf8),
                psk: HPKE.PreSharedKey(key: claimKey, id: Array(board.description.utf8)))
        }
    }

    /// Verifies a token. Its header must name a pinned key, and that key decides the algorithm.
    package func verify(
        _ token: AccessToken, keys: [SigningKey]
    ) throws(CryptographyFailure) -> AccessTokenClaims {
        let parts = try Self.asked { () throws(CryptographyError) in
            try JWS.parse(token.reveal())
        }
        let header: AccessTokenHeader
        let claims: AccessTokenClaims
        do throws(WireError) {
            header = try AccessTokenHeader(parsing: parts.header)
            claims = try AccessTokenClaims(parsing: parts.payload)
        } catch {
            throw .notAuthentic
        }
        guard let key = keys.first(where: { $0.kid == header.kid }) else { throw .unknownKey }
        let publicKey = try Self.asked { () throws(CryptographyError) in
            try Ed25519PublicKey(rawRepresentation: key.key)
        }
        guard parts.isSigned(by: publicKey) else { throw .notAuthentic }
        return claims
    }

    private static func asked<T>(
        _ body: () throws(CryptographyError) -> T
    ) throws(CryptographyFailure) -> T {
        do throws(CryptographyError) {
            return try body()
        } catch {
            switch error {
            case .malformed, .notAuthentic: throw .notAuthentic
            case .openSSL: throw .failed
            }
        }
    }
}
