import AuthorityCore
import Cryptography
import Sessions
import Wire

/// The making and the reading of an authority's keys.
enum KeyRing {
    /// What a new authority needs, its password at an embedded broker included.
    static func make(at now: Timestamp) throws(CryptographyError) -> [KeyRecord] {
        let seal = try X25519PrivateKey()
        let signing = try Ed25519PrivateKey()
        let password = Base64URL.encode(try RandomBytes.make(32))
        return [
            KeyRecord(
                kind: .seal, name: seal.publicKey.keyID.description,
                publicKey: seal.publicKey.rawRepresentation,
                privateKey: seal.rawRepresentation, createdAt: now),
            KeyRecord(
                kind: .signing, name: signing.publicKey.keyID.description,
                publicKey: signing.publicKey.rawRepresentation,
                privateKey: signing.rawRepresentation, createdAt: now),
            try secret(.tokenHash, at: now),
            try secret(.refresh, at: now),
            KeyRecord(
                kind: .brokerPassword, name: "1", publicKey: [],
                privateKey: SecretBytes(Array(password.utf8)), createdAt: now),
        ]
    }

    private static func secret(
        _ kind: KeyRecord.Kind, at now: Timestamp
    ) throws(CryptographyError) -> KeyRecord {
        KeyRecord(
            kind: kind, name: "1", publicKey: [], privateKey: try RandomBytes.secret(32),
            createdAt: now)
    }

    /// The keys in use among those stored: the newest of each kind.
    static func read(_ records: [KeyRecord]) throws(AuthorityError) -> AuthorityKeys {
        let seal = try newest(.seal, records)
        let signing = records.filter { $0.kind == .signing }
        guard let sealID = KeyID(seal.name), let first = signing.first,
            let signingKey = tokenKey(first)
        else { throw damaged }
        return AuthorityKeys(
            seal: SealKey(
                id: sealID, publicKey: seal.publicKey, privateKey: seal.privateKey),
            signing: signingKey,
            published: signing.prefix(16).compactMap { tokenKey($0)?.publicKey },
            tokenHash: try newest(.tokenHash, records).privateKey,
            refresh: try newest(.refresh, records).privateKey)
    }

    static func newest(
        _ kind: KeyRecord.Kind, _ records: [KeyRecord]
    ) throws(AuthorityError) -> KeyRecord {
        guard let record = records.first(where: { $0.kind == kind }) else { throw damaged }
        return record
    }

    private static func tokenKey(_ record: KeyRecord) -> TokenSigningKey? {
        guard let kid = KeyID(record.name) else { return nil }
        return TokenSigningKey(
            publicKey: SigningKey(kid: kid, key: record.publicKey),
            privateKey: record.privateKey)
    }

    private static let damaged = AuthorityError.failed(
        layer: "store", text: "the authority's keys are not in its store")
}
