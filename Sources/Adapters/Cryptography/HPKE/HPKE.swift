package import Sessions

/// Hybrid public key encryption, single shot: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM.
/// Each message has its own key.
///
/// Source: RFC 9180 §6.1.
package enum HPKE {
    /// A secret that both sides already have, and its name.
    package struct PreSharedKey: Sendable {
        static let leastCount = 32
        /// At least 32 bytes of full entropy.
        package let key: SecretBytes
        /// Not empty.
        package let id: [UInt8]

        package init(key: SecretBytes, id: [UInt8]) {
            self.key = key
            self.id = id
        }
    }

    /// A sealed message: the encapsulated key, 32 bytes, and ciphertext with tag.
    package struct Sealed: Equatable, Sendable {
        package let enc: [UInt8]
        package let ct: [UInt8]

        package init(enc: [UInt8], ct: [UInt8]) {
            self.enc = enc
            self.ct = ct
        }
    }

    /// Seals for `recipient`. The recipient learns that the sender has `psk`.
    ///
    /// Throws `malformed` if the psk has fewer than 32 bytes or no name. Source: RFC 9180 §5.1.2.
    package static func sealPSK(
        _ plaintext: [UInt8], to recipient: X25519PublicKey, info: [UInt8], aad: [UInt8],
        psk: PreSharedKey
    ) throws(CryptographyError) -> Sealed {
        try seal(plaintext, to: recipient, info: info, aad: aad, psk: psk)
    }

    /// Opens what `sealPSK` sealed.
    ///
    /// Throws `malformed` before any cryptography if the lengths are impossible. Throws
    /// `notAuthentic` if the key, the psk, the name, the info, the additional data or any bit is
    /// different.
    package static func openPSK(
        _ sealed: Sealed, with recipient: X25519PrivateKey, info: [UInt8], aad: [UInt8],
        psk: PreSharedKey
    ) throws(CryptographyError) -> [UInt8] {
        try open(sealed, with: recipient, info: info, aad: aad, psk: psk)
    }

    /// Seals for `recipient`. The recipient learns that `sender`'s key sealed it.
    ///
    /// For many messages between the same keys, `HPKE.Correspondence` is faster.
    /// Source: RFC 9180 §5.1.3.
    package static func sealAuth(
        _ plaintext: [UInt8], to recipient: X25519PublicKey, from sender: X25519PrivateKey,
        info: [UInt8], aad: [UInt8]
    ) throws(CryptographyError) -> Sealed {
        try Correspondence(own: sender, peer: recipient).seal(plaintext, info: info, aad: aad)
    }

    /// Opens what `sealAuth` sealed. The owner of the recipient's private key can forge such a
    /// message to that recipient. Source: RFC 9180 §9.1.
    ///
    /// Throws `malformed` before any cryptography if the lengths are impossible. Throws
    /// `notAuthentic` if the key, the sender, the info, the additional data or any bit is
    /// different.
    package static func openAuth(
        _ sealed: Sealed, with recipient: X25519PrivateKey, from sender: X25519PublicKey,
        info: [UInt8], aad: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        try checkLengths(sealed)
        return try Correspondence(own: recipient, peer: sender).open(sealed, info: info, aad: aad)
    }

    /// Seals in any mode. Only tests with published vectors pass an ephemeral key.
    ///
    /// Source: RFC 9180 §6.1.
    static func seal(
        _ plaintext: [UInt8], to recipient: X25519PublicKey, from sender: DHKEM.Sender? = nil,
        info: [UInt8], aad: [UInt8], psk: PreSharedKey? = nil, ephemeral: X25519PrivateKey? = nil
    ) throws(CryptographyError) -> Sealed {
        let ephemeral = if let ephemeral { ephemeral } else { try X25519PrivateKey() }
        let (secret, enc) = try DHKEM.encapsulate(
            to: recipient, from: sender, ephemeral: ephemeral)
        let schedule = try KeySchedule(
            sharedSecret: secret, info: info, psk: psk, hasSender: sender != nil)
        let ct = try AES256GCM.seal(
            plaintext, key: schedule.key, nonce: schedule.baseNonce, aad: aad)
        return Sealed(enc: enc, ct: ct)
    }

    /// Opens in any mode. Source: RFC 9180 §6.1.
    static func open(
        _ sealed: Sealed, with recipient: X25519PrivateKey, from sender: DHKEM.Sender? = nil,
        info: [UInt8], aad: [UInt8], psk: PreSharedKey? = nil
    ) throws(CryptographyError) -> [UInt8] {
        try checkLengths(sealed)
        let secret = try DHKEM.decapsulate(sealed.enc, with: recipient, from: sender)
        let schedule = try KeySchedule(
            sharedSecret: secret, info: info, psk: psk, hasSender: sender != nil)
        return try AES256GCM.open(
            sealed.ct, key: schedule.key, nonce: schedule.baseNonce, aad: aad)
    }

    /// Checks lengths before cryptography: 32 bytes for the key, at least the tag for the
    /// ciphertext.
    private static func checkLengths(_ sealed: Sealed) throws(CryptographyError) {
        guard sealed.enc.count == KeyKind.count, sealed.ct.count >= AES256GCM.tagCount else {
            throw .malformed
        }
    }
}
