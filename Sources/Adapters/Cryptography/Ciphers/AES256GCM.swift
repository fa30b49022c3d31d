package import Sessions

/// AES-256-GCM with a 96-bit nonce and a 128-bit tag. Source: NIST SP 800-38D §7.
package enum AES256GCM {
    /// Length of a key in bytes.
    package static let keyCount = 32
    /// Length of a nonce in bytes.
    package static let nonceCount = 12
    /// Length of a tag in bytes. A sealed message is longer than its plaintext by this.
    package static let tagCount = 16
    /// The most bytes of plaintext or additional data in one message: 1 GiB.
    package static let limit = 1 << 30

    /// The ciphertext, followed by the 16-byte tag.
    ///
    /// Never use a nonce twice with one key. Throws `malformed` unless the key has 32 bytes, the
    /// nonce 12, and each input at most 1 GiB. For many messages with one key use `RecordCipher`.
    package static func seal(
        _ plaintext: [UInt8], key: SecretBytes, nonce: [UInt8], aad: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        var cipher = try RecordCipher(key: key)
        var sealed: [UInt8] = []
        try cipher.seal(plaintext.span, nonce: nonce.span, aad: aad.span, into: &sealed)
        return sealed
    }

    /// The plaintext of a message that `seal` made.
    ///
    /// Throws `malformed` for fewer than 16 bytes or a wrong key or nonce length. Throws
    /// `notAuthentic` if the key, the nonce, the additional data or any bit is different.
    package static func open(
        _ sealed: [UInt8], key: SecretBytes, nonce: [UInt8], aad: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        var cipher = try RecordCipher(key: key)
        var plaintext: [UInt8] = []
        try cipher.open(sealed.span, nonce: nonce.span, aad: aad.span, into: &plaintext)
        return plaintext
    }
}
