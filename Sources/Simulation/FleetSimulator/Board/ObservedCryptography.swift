import AgentCore
import AgentCryptography
import Cryptography
import Sessions
import Synchronization
import Wire

/// A simulated board's cryptography. It records the messages that the agent sealed and opened last,
/// because the simulator cannot read sealed messages otherwise.
///
/// It keeps the key agreement with the authority and the last verified token, so that ten thousand
/// boards can run on one core.
final class ObservedCryptography: BoardCryptography {
    private struct State {
        var sealed: [BoardMessage] = []
        var opened: AuthorityMessage?
        var peer: HPKE.Correspondence?
        var verified: (token: AccessToken, keys: [SigningKey], claims: AccessTokenClaims)?
    }

    private let real = Cryptographer()
    private let state = Mutex(State())

    /// The messages that the agent sealed since the last call, in order.
    func takeSealed() -> [BoardMessage] {
        state.withLock { state in
            defer { state.sealed.removeAll() }
            return state.sealed
        }
    }

    /// The message that the agent opened since the last call.
    func takeOpened() -> AuthorityMessage? {
        state.withLock { state in
            defer { state.opened = nil }
            return state.opened
        }
    }

    /// Seals a message that the agent does not know about.
    func sealUnnoticed(
        _ message: BoardMessage, to key: [UInt8], from device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8] {
        defer { _ = takeSealed() }
        return try seal(message.plaintext, to: key, from: device, topic: topic).payload
    }

    private func peer(
        _ key: [UInt8], _ device: SecretBytes
    ) throws(CryptographyFailure) -> HPKE.Correspondence {
        if let known = state.withLock({ $0.peer }), known.peer.rawRepresentation == key {
            return known
        }
        do throws(CryptographyError) {
            let made = try HPKE.Correspondence(
                own: X25519PrivateKey(rawRepresentation: device),
                peer: X25519PublicKey(rawRepresentation: key))
            state.withLock { $0.peer = made }
            return made
        } catch {
            throw .notAuthentic
        }
    }

    private func note(opened plaintext: [UInt8]) -> [UInt8] {
        // The agent also drops a message that it cannot read.
        let message = try? AuthorityMessage(parsing: plaintext)
        state.withLock { $0.opened = message }
        return plaintext
    }
}

extension ObservedCryptography {
    func random(_ count: Int) throws(CryptographyFailure) -> [UInt8] { try real.random(count) }

    func makeDeviceKey() throws(CryptographyFailure) -> (secret: SecretBytes, key: [UInt8]) {
        try real.makeDeviceKey()
    }

    func keyID(of key: [UInt8]) throws(CryptographyFailure) -> KeyID { try real.keyID(of: key) }

    func holdsCertificates(_ pem: String) -> Bool { real.holdsCertificates(pem) }

    func digest(_ bytes: [UInt8]) throws(CryptographyFailure) -> [UInt8] {
        try real.digest(bytes)
    }

    func derive(
        _ purpose: ClaimPurpose, from secret: SecretBytes, board: InstallationID
    ) throws(CryptographyFailure) -> SecretBytes {
        try real.derive(purpose, from: secret, board: board)
    }

    func seal(
        _ plaintext: [UInt8], to key: [UInt8], from device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> SealedEnvelope {
        let peer = try peer(key, device)
        do {
            let sealed = try peer.seal(
                plaintext, info: SealedEnvelope.info, aad: Array(topic.utf8))
            let message = try BoardMessage(parsing: plaintext)
            state.withLock { $0.sealed.append(message) }
            return SealedEnvelope(
                mode: .auth, to: peer.peer.keyID, enc: sealed.enc, ct: sealed.ct)
        } catch {
            throw .failed
        }
    }

    func seal(
        _ plaintext: [UInt8], to key: [UInt8], claimKey: SecretBytes, id: InstallationID,
        topic: String
    ) throws(CryptographyFailure) -> SealedEnvelope {
        try real.seal(plaintext, to: key, claimKey: claimKey, id: id, topic: topic)
    }

    func open(
        _ envelope: SealedEnvelope, from sender: [UInt8], with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8] {
        let peer = try peer(sender, device)
        do throws(CryptographyError) {
            return note(opened: try peer.open(
                HPKE.Sealed(enc: envelope.enc, ct: envelope.ct), info: SealedEnvelope.info,
                aad: Array(topic.utf8)))
        } catch {
            throw .notAuthentic
        }
    }

    func open(
        _ envelope: SealedEnvelope, claimKey: SecretBytes, board: InstallationID,
        with device: SecretBytes, topic: String
    ) throws(CryptographyFailure) -> [UInt8] {
        note(opened: try real.open(
            envelope, claimKey: claimKey, board: board, with: device, topic: topic))
    }

    func verify(
        _ token: AccessToken, keys: [SigningKey]
    ) throws(CryptographyFailure) -> AccessTokenClaims {
        if let known = state.withLock({ $0.verified }), known.keys == keys,
            known.token.secret.matches(token.secret)
        {
            return known.claims
        }
        let claims = try real.verify(token, keys: keys)
        state.withLock { $0.verified = (token, keys, claims) }
        return claims
    }
}
