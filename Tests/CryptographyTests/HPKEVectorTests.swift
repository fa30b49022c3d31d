import Sessions
import Testing

@testable import Cryptography

@Suite("HPKE vectors")
struct HPKEVectorTests {
    /// One of the vectors that RFC 9180 publishes beside appendix A.
    struct Vector: Decodable {
        struct Encryption: Decodable {
            let aad: Hex
            let ct: Hex
            let pt: Hex
        }

        let mode: Int
        let kem_id: Int
        let kdf_id: Int
        let aead_id: Int
        let info: Hex
        let skRm: Hex
        let skEm: Hex
        let skSm: Hex?
        let pkRm: Hex
        let pkEm: Hex
        let pkSm: Hex?
        let psk: Hex?
        let psk_id: Hex?
        let enc: Hex
        let shared_secret: Hex
        let key: Hex
        let base_nonce: Hex
        let encryptions: [Encryption]
    }

    /// A vector's keys as this module's types.
    struct Parties {
        let recipient: X25519PrivateKey
        let ephemeral: X25519PrivateKey
        let sender: X25519PrivateKey?
        /// The sender as each side computes it for itself.
        let sealing: DHKEM.Sender?
        let opening: DHKEM.Sender?
        let psk: HPKE.PreSharedKey?

        init(_ vector: Vector) throws {
            recipient = try X25519PrivateKey(rawRepresentation: SecretBytes(vector.skRm.bytes))
            ephemeral = try X25519PrivateKey(rawRepresentation: SecretBytes(vector.skEm.bytes))
            sender = try vector.skSm.map {
                try X25519PrivateKey(rawRepresentation: SecretBytes($0.bytes))
            }
            let recipient = recipient
            sealing = try sender.map {
                let agreement = try $0.sharedSecret(with: recipient.publicKey)
                return DHKEM.Sender(publicKey: $0.publicKey, agreement: agreement)
            }
            opening = try sender.map {
                let agreement = try recipient.sharedSecret(with: $0.publicKey)
                return DHKEM.Sender(publicKey: $0.publicKey, agreement: agreement)
            }
            psk = vector.psk.map {
                HPKE.PreSharedKey(key: SecretBytes($0.bytes), id: vector.psk_id?.bytes ?? [])
            }
        }
    }

    static func load() throws -> [Vector]? {
        let name = "rfc9180-p256-x25519-hkdfsha256-aesgcm.json"
        return try Vectors.load(name, as: [Vector].self)?.filter {
            $0.kem_id == 0x0020 && $0.kdf_id == 0x0001 && $0.aead_id == 0x0002
        }
    }

    @Test("derives the published secret, key and nonce in all four modes")
    func schedule() throws {
        guard let vectors = try Self.load() else { return }
        #expect(Set(vectors.map(\.mode)) == [0, 1, 2, 3])
        for vector in vectors {
            let parties = try Parties(vector)
            #expect(parties.recipient.publicKey.rawRepresentation == vector.pkRm.bytes)
            #expect(parties.ephemeral.publicKey.rawRepresentation == vector.pkEm.bytes)
            #expect(parties.sender?.publicKey.rawRepresentation == vector.pkSm?.bytes)
            let (secret, enc) = try DHKEM.encapsulate(
                to: parties.recipient.publicKey, from: parties.sealing,
                ephemeral: parties.ephemeral)
            let opened = try DHKEM.decapsulate(
                enc, with: parties.recipient, from: parties.opening)
            #expect(enc == vector.enc.bytes)
            #expect(secret.reveal() == vector.shared_secret.bytes)
            #expect(opened.reveal() == vector.shared_secret.bytes)
            let schedule = try KeySchedule(
                sharedSecret: secret, info: vector.info.bytes, psk: parties.psk,
                hasSender: parties.sender != nil)
            #expect(schedule.key.reveal() == vector.key.bytes)
            #expect(schedule.baseNonce == vector.base_nonce.bytes)
        }
    }

    @Test("seals and opens the published messages in all four modes")
    func messages() throws {
        guard let vectors = try Self.load() else { return }
        #expect(vectors.count == 4)
        for vector in vectors {
            let parties = try Parties(vector)
            let first = try #require(vector.encryptions.first)
            let sealed = try HPKE.seal(
                first.pt.bytes, to: parties.recipient.publicKey, from: parties.sealing,
                info: vector.info.bytes, aad: first.aad.bytes, psk: parties.psk,
                ephemeral: parties.ephemeral)
            #expect(sealed == HPKE.Sealed(enc: vector.enc.bytes, ct: first.ct.bytes))
            let opened = try HPKE.open(
                sealed, with: parties.recipient, from: parties.opening,
                info: vector.info.bytes, aad: first.aad.bytes, psk: parties.psk)
            #expect(opened == first.pt.bytes)
        }
    }
}
