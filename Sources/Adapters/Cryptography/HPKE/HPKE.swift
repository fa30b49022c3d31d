package import Sessions

/// Hybrid public key encryption, single shot: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256,
/// AES-256-GCM. Each message is sealed under a key of its own.
///
/// Source: RFC 9180 §6.1.
package enum HPKE {
    /// A secret both sides hold already, and its name.
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

    /// Seals for `recipient`, who learns that the sender holds `psk`.
    ///
    /// Throws `malformed` for a psk under 32 bytes or without a name. Source: RFC 9180 §5.1.2.
    package static func sealPSK(
        _ plaintext: [UInt8], to recipient: X25519PublicKey, info: [UInt8], aad: [UInt8],
        psk: PreSharedKey
    ) throws(CryptographyError) -> Sealed {
        try seal(plaintext, to: recipient, info: info, aad: aad, psk: psk)
    }

    /// Opens what `sealPSK` sealed.
    ///
    /// Throws `malformed` before any cryptography for a message whose lengths are impossible,
    /// `notAuthentic` for any other key, psk, name, info, additional data or bit.
    package static func openPSK(
        _ sealed: Sealed, with recipient: X25519PrivateKey, info: [UInt8], aad: [UInt8],
        psk: PreSharedKey
    ) throws(CryptographyError) -> [UInt8] {
        try open(sealed, with: recipient, info: info, aad: aad, psk: psk)
    }

    /// Seals for `recipient`, who learns that it came from `sender`'s key.
    ///
    /// Between the same two keys `HPKE.Correspondence` does it faster. Source: RFC 9180 §5.1.3.
    package static func sealAuth(
        _ plaintext: [UInt8], to recipient: X25519PublicKey, from sender: X25519PrivateKey,
        info: [UInt8], aad: [UInt8]
    ) throws(CryptographyError) -> Sealed {
        try Correspondence(own: sender, peer: recipient).seal(plaintext, info: info, aad: aad)
    }

    /// Opens what `sealAuth` sealed. Who holds the recipient's own private key can forge it
    /// for that recipient. Source: RFC 9180 §9.1.
    ///
    /// Throws `malformed` before any cryptography for a message whose lengths are impossible,
    /// `notAuthentic` for any other key, sender, info, additional data or bit.
    package static func openAuth(
        _ sealed: Sealed, with recipient: X25519PrivateKey, from sender: X25519PublicKey,
        info: [UInt8], aad: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        try checkLengths(sealed)
        return try Correspondence(own: recipient, peer: sender).open(sealed, info: info, aad: aad)
    }

    /// Seal in any mode. Only a published vector brings its own ephemeral key.
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

    /// Open in any mode. Source: RFC 9180 §6.1.
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

    /// Lengths before cryptography: an encapsulated key has 32 bytes, a ciphertext its tag.
    private static func checkLengths(_ sealed: Sealed) throws(CryptographyError) {
        guard sealed.enc.count == KeyKind.count, sealed.ct.count >= AES256GCM.tagCount else {
            throw .malformed
        }
    }
}
