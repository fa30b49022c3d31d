package import Sessions
package import Wire

/// The cryptography that the agent decides with, given to it so that it has none of its own.
///
/// Every function is pure but for `random`; none keeps what it is given.
package protocol BoardCryptography: Sendable {
    func random(_ count: Int) throws(CryptographyFailure) -> [UInt8]
    /// A fresh X25519 key pair.
    func makeDeviceKey() throws(CryptographyFailure) -> (secret: SecretBytes, key: [UInt8])
    /// The name of a raw public key; throws for one of small order, which keeps no secret.
    func keyID(of key: [UInt8]) throws(CryptographyFailure) -> KeyID
    /// Whether a text holds certificates in PEM, each of which can be read.
    func holdsCertificates(_ pem: String) -> Bool
    func digest(_ bytes: [UInt8]) throws(CryptographyFailure) -> [UInt8]
    /// 32 bytes from the claim secret: HKDF-SHA256, salt = the installation id.
    func derive(
        _ purpose: ClaimPurpose, from secret: SecretBytes, board: InstallationID
    ) throws(CryptographyFailure) -> SecretBytes
    /// Seals in mode `auth` from the device key.
    func seal(
        _ plaintext: [UInt8], to key: [UInt8], from device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> SealedEnvelope
    /// Opens mode `auth`; throws for anything that this sender did not seal for this board.
    func open(
        _ envelope: SealedEnvelope, from sender: [UInt8], with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8]
    /// Opens mode `psk` under the claim's key; `board` is the psk's id.
    func open(
        _ envelope: SealedEnvelope, claimKey: SecretBytes, board: InstallationID,
        with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8]
    /// The header and claims of a token that the named key has signed, as bytes.
    func verify(
        _ token: AccessToken, keys: [SigningKey]
    ) throws(CryptographyFailure) -> AccessTokenClaims
}

/// What the claim secret is stretched into. The raw values are the contract's `info` strings.
package enum ClaimPurpose: String, Sendable {
    case broker = "postern/v1 broker"
    case claim = "postern/v1 claim"
}

/// Why a cryptographic function did not do what it was asked.
package enum CryptographyFailure: Error, Equatable, Sendable {
    /// The input is not authentic: forged, damaged, for another, or malformed.
    case notAuthentic
    /// The token names a key that is not pinned.
    case unknownKey
    /// The library failed: out of memory or of randomness.
    case failed
}
