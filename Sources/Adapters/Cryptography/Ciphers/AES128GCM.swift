import Sessions

/// AES-128-GCM, only to encrypt, and only for a standard that demands it: Web Push.
///
/// Source: RFC 8188 §2; NIST SP 800-38D §7.1.
enum AES128GCM {
    /// Length of a key in bytes.
    static let keyCount = 16

    /// The ciphertext, followed by the 16-byte tag. Never use a nonce twice with one key. Throws
    /// `malformed` unless the key has 16 bytes and the nonce 12.
    static func seal(
        _ plaintext: [UInt8], key: SecretBytes, nonce: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        var context = try CipherContext()
        try context.start128(key: key)
        var sealed: [UInt8] = []
        let nothing: [UInt8] = []
        try context.seal(plaintext.span, nonce: nonce.span, aad: nothing.span, into: &sealed)
        return sealed
    }
}
