/// Another issuer's public key for verifying signatures. Each key has one algorithm.
///
/// Source: RFC 8725 §3.1: a key is used with one algorithm, and that is found with the key.
package enum SignatureKey: Sendable {
    /// `RS256` or `PS256`, depending on the key.
    case rsa(RSAPublicKey)
    /// `ES256`.
    case p256(P256PublicKey)
    /// `EdDSA`.
    case ed25519(Ed25519PublicKey)

    package func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        switch self {
        case .rsa(let key): key.verify(signature, of: message)
        case .p256(let key): key.verify(signature, of: message)
        case .ed25519(let key): key.verify(signature, of: message)
        }
    }
}
