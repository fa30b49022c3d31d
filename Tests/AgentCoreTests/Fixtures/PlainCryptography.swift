import AgentCore
import Sessions
import Synchronization
import Wire

/// Seals nothing and signs nothing: for fleets, whose messages nobody is to open, and whose
/// randomness is one seed's. Source of the numbers: Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", 2014.
final class PlainCryptography: BoardCryptography {
    static let keyID = KeyID(digest: [UInt8](repeating: 7, count: 32))
    private let state: Mutex<UInt64>

    init(seed: UInt64) { state = Mutex(seed &* 0x9E37_79B9) }

    /// From 0 to 1.
    func share() -> Double { Double(next() >> 11) / Double(UInt64(1) << 53) }

    private func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    func random(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    func makeDeviceKey() throws(CryptographyFailure) -> (secret: SecretBytes, key: [UInt8]) {
        throw .failed
    }

    func keyID(of key: [UInt8]) -> KeyID { Self.keyID }
    func holdsCertificates(_ pem: String) -> Bool { true }
    func digest(_ bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: 1, count: 32) }

    func derive(
        _ purpose: ClaimPurpose, from secret: SecretBytes, board: InstallationID
    ) -> SecretBytes { secret }

    static func seal(_ plaintext: [UInt8]) -> SealedEnvelope {
        SealedEnvelope(
            mode: .auth, to: keyID, enc: [UInt8](repeating: 0, count: 32), ct: plaintext)
    }

    func seal(
        _ plaintext: [UInt8], to key: [UInt8], from device: SecretBytes, topic: String
    ) -> SealedEnvelope { Self.seal(plaintext) }

    func seal(
        _ plaintext: [UInt8], to key: [UInt8], claimKey: SecretBytes, id: InstallationID,
        topic: String
    ) -> SealedEnvelope { Self.seal(plaintext) }

    func open(
        _ envelope: SealedEnvelope, from sender: [UInt8], with device: SecretBytes, topic: String
    ) -> [UInt8] { envelope.ct }

    func open(
        _ envelope: SealedEnvelope, claimKey: SecretBytes, board: InstallationID,
        with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8] { throw .notAuthentic }

    /// The claims stand in the token, as base64url.
    func verify(
        _ token: AccessToken, keys: [SigningKey]
    ) throws(CryptographyFailure) -> AccessTokenClaims {
        guard let bytes = Base64URL.decode(token.reveal()),
            let claims = try? AccessTokenClaims(parsing: bytes)
        else { throw .notAuthentic }
        return claims
    }

    static func token(_ claims: AccessTokenClaims) -> AccessToken {
        AccessToken(unchecked: SecretBytes(Array(Base64URL.encode(claims.bytes).utf8)))
    }
}
