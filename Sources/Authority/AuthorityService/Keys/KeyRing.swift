import AuthorityBroker
package import AuthorityCore
package import Cryptography
import Sessions
import Synchronization
import Wire

/// Makes and reads the authority's keys.
package enum KeyRing {
    /// The keys of a new authority, including its password at an embedded broker.
    static func make(at now: Timestamp) throws(CryptographyError) -> [KeyRecord] {
        let seal = try X25519PrivateKey()
        let signing = try signingKey()
        let password = Base64URL.encode(try RandomBytes.make(32))
        return [
            KeyRecord(
                kind: .seal, name: seal.publicKey.keyID.description,
                publicKey: seal.publicKey.rawRepresentation,
                privateKey: seal.rawRepresentation, createdAt: now),
            KeyRecord(
                kind: .signing, name: signing.publicKey.kid.description,
                publicKey: signing.publicKey.key, privateKey: signing.privateKey,
                createdAt: now),
            try secret(.tokenHash, at: now),
            try secret(.refresh, at: now),
            KeyRecord(
                kind: .brokerPassword, name: "1", publicKey: [],
                privateKey: SecretBytes(Array(password.utf8)), createdAt: now),
        ]
    }

    /// A new key for the push services.
    static func pushKey(at now: Timestamp) throws(CryptographyError) -> KeyRecord {
        let key = try P256PrivateKey()
        return KeyRecord(
            kind: .push, name: "1", publicKey: key.publicPoint, privateKey: try key.pem(),
            createdAt: now)
    }

    private static func secret(
        _ kind: KeyRecord.Kind, at now: Timestamp
    ) throws(CryptographyError) -> KeyRecord {
        KeyRecord(
            kind: kind, name: "1", publicKey: [], privateKey: try RandomBytes.secret(32),
            createdAt: now)
    }

    /// A new key for signing access tokens. Its `kid` is its thumbprint.
    package static func signingKey() throws(CryptographyError) -> TokenSigningKey {
        let key = try Ed25519PrivateKey()
        return TokenSigningKey(
            publicKey: SigningKey(
                kid: key.publicKey.keyID, key: key.publicKey.rawRepresentation),
            privateKey: key.rawRepresentation)
    }

    /// The current keys among the stored ones.
    static func read(
        _ records: [KeyRecord], at now: Timestamp = systemClock()
    ) throws(AuthorityError) -> AuthorityKeys {
        let seal = try newest(.seal, records)
        guard let sealID = KeyID(seal.name), let signing = SigningKeySet(records, at: now)
        else { throw damaged }
        return AuthorityKeys(
            seal: SealKey(
                id: sealID, publicKey: seal.publicKey, privateKey: seal.privateKey),
            signingKeys: SigningKeys(signing),
            tokenHash: try newest(.tokenHash, records).privateKey,
            refresh: try newest(.refresh, records).privateKey)
    }

    static func newest(
        _ kind: KeyRecord.Kind, _ records: [KeyRecord]
    ) throws(AuthorityError) -> KeyRecord {
        guard let record = records.first(where: { $0.kind == kind }) else { throw damaged }
        return record
    }

    private static let damaged = AuthorityError.failed(
        layer: "store", text: "the authority's keys are not in its store")
}

/// The signing keys of this process, which all parts share.
final class SigningKeys: SigningKeySource {
    private let held: Mutex<SigningKeySet>

    init(_ set: SigningKeySet) { held = Mutex(set) }

    var current: SigningKeySet { held.withLock { $0 } }

    func replace(with set: SigningKeySet) { held.withLock { $0 = set } }
}
