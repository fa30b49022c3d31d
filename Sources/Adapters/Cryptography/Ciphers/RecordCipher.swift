package import Sessions

/// AES-256-GCM for many records with one key. It uses one context and allocates nothing for a
/// record except in the caller's buffer.
///
/// For one owner, one thread at a time. The caller makes the nonces. Random 12-byte nonces suffice
/// for 2^32 records; then the key must change. Making one random nonce takes three times as long as
/// sealing 256 bytes, so make many at once. Source: NIST SP 800-38D §8.3.
package struct RecordCipher: ~Copyable {
    private var context: CipherContext

    /// Throws `malformed` unless the key has 32 bytes.
    package init(key: SecretBytes) throws(CryptographyError) {
        var started = try CipherContext()
        try started.start(key: key)
        context = started
    }

    /// Appends ciphertext and 16-byte tag to `record`, so one buffer can have a header or the nonce
    /// in front.
    ///
    /// If it throws, `record` is unchanged. Throws `malformed` unless the nonce has 12 bytes, and
    /// for more than 1 GiB.
    package mutating func seal(
        _ plaintext: Span<UInt8>, nonce: Span<UInt8>, aad: Span<UInt8>, into record: inout [UInt8]
    ) throws(CryptographyError) {
        try context.seal(plaintext, nonce: nonce, aad: aad, into: &record)
    }

    /// Appends the plaintext of `sealed` (ciphertext and tag) to `plaintext`.
    ///
    /// If it throws, `plaintext` is unchanged. Throws `malformed` for fewer than 16 bytes, or
    /// unless the nonce has 12. Throws `notAuthentic` if the key, the nonce, the additional data or
    /// any bit is different.
    package mutating func open(
        _ sealed: Span<UInt8>, nonce: Span<UInt8>, aad: Span<UInt8>, into plaintext: inout [UInt8]
    ) throws(CryptographyError) {
        try context.open(sealed, nonce: nonce, aad: aad, into: &plaintext)
    }
}
