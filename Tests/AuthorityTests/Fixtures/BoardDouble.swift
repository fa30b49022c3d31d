import AuthorityCore
import Cryptography
import Sessions
import Synchronization
import Wire

@testable import AuthorityService

/// A board as the contract has it, without a broker: it makes a claim URL, opens what is
/// sealed for it and seals what it says.
final class BoardDouble: Sendable {
    let installation: InstallationID
    let key: X25519PrivateKey
    let secret: SecretBytes
    let root = TopicRoot.standard

    init(
        installation: InstallationID? = nil, key: X25519PrivateKey? = nil
    ) throws {
        self.installation = try installation
            ?? InstallationID(random: RandomBytes.make(16))
        self.key = try key ?? X25519PrivateKey()
        secret = try RandomBytes.secret(32)
    }

    func url(base: String = ClaimURL.defaultBase) -> ClaimURL {
        ClaimURL(
            base: base, installation: installation,
            deviceKey: key.publicKey.rawRepresentation, secret: secret, name: "greenhouse")
    }

    /// The same board with another claim secret.
    func pairedAnew() throws -> BoardDouble {
        try BoardDouble(installation: installation, key: key)
    }

    var brokerPassword: SecretBytes {
        get throws {
            try SystemCryptography().claimKeys(secret: secret, board: installation)
                .brokerPassword
        }
    }

    var inbox: String { ContractTopic.inbox(installation).text(under: root) }
    var outbox: String { ContractTopic.outbox(installation).text(under: root) }

    func openProvision(_ payload: [UInt8]) throws -> (id: MessageID, provision: Provision) {
        let envelope = try SealedEnvelope(parsing: payload)
        let keys = try SystemCryptography().claimKeys(secret: secret, board: installation)
        let plaintext = try HPKE.openPSK(
            HPKE.Sealed(enc: envelope.enc, ct: envelope.ct), with: key,
            info: SealedEnvelope.info, aad: Array(inbox.utf8),
            psk: .init(key: keys.psk, id: Array(installation.description.utf8)))
        let message = try AuthorityMessage(parsing: plaintext)
        guard case .provision(let provision) = message.body else { throw NotThat() }
        return (message.id, provision)
    }

    func open(_ payload: [UInt8], from sealKey: [UInt8]) throws -> AuthorityMessage {
        let envelope = try SealedEnvelope(parsing: payload)
        let plaintext = try HPKE.openAuth(
            HPKE.Sealed(enc: envelope.enc, ct: envelope.ct), with: key,
            from: X25519PublicKey(rawRepresentation: sealKey), info: SealedEnvelope.info,
            aad: Array(inbox.utf8))
        return try AuthorityMessage(parsing: plaintext)
    }

    func seal(
        _ plaintext: [UInt8], to sealKey: [UInt8], topic: String? = nil
    ) throws -> [UInt8] {
        let recipient = try X25519PublicKey(rawRepresentation: sealKey)
        let sealed = try HPKE.sealAuth(
            plaintext, to: recipient, from: key, info: SealedEnvelope.info,
            aad: Array((topic ?? outbox).utf8))
        return SealedEnvelope(
            mode: .auth, to: recipient.keyID, enc: sealed.enc, ct: sealed.ct).payload
    }
}

struct NotThat: Error {}

extension MessageID {
    static func fresh() throws -> MessageID { MessageID(random: try RandomBytes.make(16)) }
}
