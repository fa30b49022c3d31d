package import Sessions

/// AES-256-GCM for many records under one key: one context, no allocation for each record
/// beyond the caller's own buffer.
///
/// One owner, one thread at a time. The caller makes the nonces: 12 random bytes each serve
/// for 2^32 records, after which the key must change. Drawing one costs three times as much as
/// sealing 256 bytes; draw many at once. Source: NIST SP 800-38D §8.3.
package struct RecordCipher: ~Copyable {
    private var context: CipherContext

    /// Throws `malformed` for a key that has not 32 bytes.
    package init(key: SecretBytes) throws(CryptographyError) {
        var started = try CipherContext()
        try started.start(key: key)
        context = started
    }

    /// Appends ciphertext and 16-byte tag to `record`, so that a header or the nonce may
    /// stand before them in one buffer.
    ///
    /// When it throws `record` is as it was. Throws `malformed` for a nonce that has not 12
    /// bytes or more than 1 GiB.
    package mutating func seal(
        _ plaintext: Span<UInt8>, nonce: Span<UInt8>, aad: Span<UInt8>, into record: inout [UInt8]
    ) throws(CryptographyError) {
        try context.seal(plaintext, nonce: nonce, aad: aad, into: &record)
    }

    /// Appends the plaintext of `sealed` (ciphertext and tag) to `plaintext`.
    ///
    /// When it throws `plaintext` is as it was. Throws `malformed` for fewer than 16 bytes or
    /// a nonce that has not 12, `notAuthentic` when key, nonce, additional data or any bit
    /// differs.
    package mutating func open(
        _ sealed: Span<UInt8>, nonce: Span<UInt8>, aad: Span<UInt8>, into plaintext: inout [UInt8]
    ) throws(CryptographyError) {
        try context.open(sealed, nonce: nonce, aad: aad, into: &plaintext)
    }
}
