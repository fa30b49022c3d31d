import AuthorityCore
import Cryptography
import Sessions
import Synchronization
import WebAuthn
import Wire

@testable import AuthorityService

/// The system's cryptography, but that passwords take no time: a table of rules logs in often.
struct QuickPasswords: AuthorityCryptography {
    /// What was verified, if somebody counts: whether there was a hash to verify against.
    var tally: Tally?
    private let system = SystemCryptography()
    private let key = SecretBytes("what no password is hashed with elsewhere")

    func hashPassword(_ password: SecretBytes) async throws(AuthorityError) -> String {
        Base64URL.encode(try system.hmac(password.reveal(), key: key))
    }

    func isOutdated(passwordHash: String) -> Bool {
        system.isOutdated(passwordHash: passwordHash)
    }

    func verifyPassword(
        _ password: SecretBytes, against hash: String?
    ) async throws(AuthorityError) -> Bool {
        tally?.add(hash != nil)
        // One of today, or of a program before it.
        if hash?.hasPrefix("$") == true {
            return try await system.verifyPassword(password, against: hash)
        }
        return try await hashPassword(password) == hash
    }

    final class Tally: Sendable {
        private let verified = Mutex([Bool]())

        func add(_ hasHash: Bool) { verified.withLock { $0.append(hasHash) } }
        func take() -> [Bool] { verified.withLock { all in defer { all = [] }; return all } }
    }

    func openJoin(
        _ envelope: SealedEnvelope, claim: ClaimKeys, id: InstallationID, with key: SealKey,
        topic: String
    ) -> [UInt8]? {
        system.openJoin(envelope, claim: claim, id: id, with: key, topic: topic)
    }

    func fingerprint(ofCertificate pem: String) -> CertificateFingerprint? {
        system.fingerprint(ofCertificate: pem)
    }

    func isUsable(_ key: PasskeyKey) -> Bool { system.isUsable(key) }

    func verify(_ signature: [UInt8], of message: [UInt8], by key: PasskeyKey) -> Bool {
        system.verify(signature, of: message, by: key)
    }

    func random(_ count: Int) throws(AuthorityError) -> [UInt8] { try system.random(count) }

    func sha256(_ message: [UInt8]) throws(AuthorityError) -> [UInt8] {
        try system.sha256(message)
    }

    func hmac(_ message: [UInt8], key: SecretBytes) throws(AuthorityError) -> [UInt8] {
        try system.hmac(message, key: key)
    }

    func claimKeys(
        secret: SecretBytes, board: InstallationID
    ) throws(AuthorityError) -> ClaimKeys {
        try system.claimKeys(secret: secret, board: board)
    }

    func sealProvision(
        _ plaintext: [UInt8], to board: RecipientKey, claim: ClaimKeys, topic: String
    ) throws(AuthorityError) -> [UInt8] {
        try system.sealProvision(plaintext, to: board, claim: claim, topic: topic)
    }

    func seal(
        _ plaintext: [UInt8], to board: RecipientKey, from key: SealKey, topic: String
    ) throws(AuthorityError) -> [UInt8] {
        try system.seal(plaintext, to: board, from: key, topic: topic)
    }

    func open(
        _ envelope: SealedEnvelope, from deviceKey: [UInt8], with key: SealKey, topic: String
    ) -> [UInt8]? {
        system.open(envelope, from: deviceKey, with: key, topic: topic)
    }

    func sign(
        _ claims: AccessTokenClaims, with key: TokenSigningKey
    ) throws(AuthorityError) -> AccessToken {
        try system.sign(claims, with: key)
    }

    func claims(
        of token: AccessToken, signedBy keys: [SigningKey]
    ) throws(AccessTokenFault) -> [UInt8] {
        try system.claims(of: token, signedBy: keys)
    }
}
