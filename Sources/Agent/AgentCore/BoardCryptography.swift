package import Sessions
package import Wire

/// The cryptography that the agent uses. The core has none of its own.
///
/// Every function except `random` is pure. No function keeps its arguments.
package protocol BoardCryptography: Sendable {
    func random(_ count: Int) throws(CryptographyFailure) -> [UInt8]
    /// A fresh X25519 key pair.
    func makeDeviceKey() throws(CryptographyFailure) -> (secret: SecretBytes, key: [UInt8])
    /// The id of a raw public key. Throws for a key of small order, because such a key protects
    /// no secret.
    func keyID(of key: [UInt8]) throws(CryptographyFailure) -> KeyID
    /// Whether a text contains certificates in PEM, and each of them can be read.
    func holdsCertificates(_ pem: String) -> Bool
    func digest(_ bytes: [UInt8]) throws(CryptographyFailure) -> [UInt8]
    /// Derives 32 bytes from the claim secret: HKDF-SHA256, salt = the installation id.
    func derive(
        _ purpose: ClaimPurpose, from secret: SecretBytes, board: InstallationID
    ) throws(CryptographyFailure) -> SecretBytes
    /// Seals in mode `auth` with the device key.
    func seal(
        _ plaintext: [UInt8], to key: [UInt8], from device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> SealedEnvelope
    /// Seals in mode `psk` with the key of a prepared claim; `id` is the psk's id.
    func seal(
        _ plaintext: [UInt8], to key: [UInt8], claimKey: SecretBytes, id: InstallationID,
        topic: String
    ) throws(CryptographyFailure) -> SealedEnvelope
    /// Opens mode `auth`. Throws for data that this sender did not seal for this board.
    func open(
        _ envelope: SealedEnvelope, from sender: [UInt8], with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8]
    /// Opens mode `psk` under the claim's key; `board` is the psk's id.
    func open(
        _ envelope: SealedEnvelope, claimKey: SecretBytes, board: InstallationID,
        with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8]
    /// Verifies a token with the key that its header names, and returns its claims.
    func verify(
        _ token: AccessToken, keys: [SigningKey]
    ) throws(CryptographyFailure) -> AccessTokenClaims
}

/// The purpose of a key derived from the claim secret. The raw values are the contract's `info`
/// strings.
package enum ClaimPurpose: String, Sendable {
    case broker = "postern/v1 broker"
    case claim = "postern/v1 claim"
}

/// Why a cryptographic function failed.
package enum CryptographyFailure: Error, Equatable, Sendable {
    /// The input is not authentic: forged, damaged, meant for another recipient, or malformed.
    case notAuthentic
    /// The token names a key that is not pinned.
    case unknownKey
    /// The library failed: out of memory or of randomness.
    case failed
}
