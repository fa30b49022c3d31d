package import Sessions

/// HKDF with SHA-256, built on OpenSSL's HMAC. For a short key OpenSSL's own HKDF takes twice as
/// long, because each step looks up HMAC and the hash by name.
///
/// Source: RFC 5869 §2.
package enum HKDFSHA256 {
    /// The most bytes of one derivation: 255 blocks. Source: RFC 5869 §2.3.
    package static let limit = 255 * SHA256.count
    /// The most bytes of `info`; all uses here are far below.
    package static let infoLimit = 1024

    /// Replaces an absent salt. Source: RFC 5869 §2.2.
    private static let noSalt = SecretBytes([UInt8](repeating: 0, count: SHA256.count))

    /// Derives `count` bytes, 1 to 8160, with extract and expand.
    ///
    /// Throws `malformed` for an empty key, a count out of range or an `info` over 1 KiB. An empty
    /// salt means 32 zero bytes. Source: RFC 5869 §2.1.
    package static func derive(
        from key: SecretBytes, salt: [UInt8], info: [UInt8], count: Int
    ) throws(CryptographyError) -> SecretBytes {
        guard key.count > 0 else { throw .malformed }
        return try expand(
            from: extract(from: [key], salt: SecretBytes(salt)), info: info, count: count)
    }

    /// A 32-byte pseudorandom key from the parts, joined in order. The salt may be secret.
    /// Source: RFC 5869 §2.2.
    static func extract(
        from parts: [SecretBytes], salt: SecretBytes
    ) throws(CryptographyError) -> SecretBytes {
        let code = try MACContext(key: salt.count > 0 ? salt : noSalt)
        for part in parts { try code.update(part) }
        return try code.secret()
    }

    /// Expands a pseudorandom key to `count` bytes. Source: RFC 5869 §2.3.
    static func expand(
        from key: SecretBytes, info: [UInt8], count: Int
    ) throws(CryptographyError) -> SecretBytes {
        guard key.count > 0, (1...limit).contains(count), info.count <= infoLimit else {
            throw .malformed
        }
        return try unsafe SecretBytes.filled(count: count) {
            output throws(CryptographyError) in
            var block = SecretBytes([])
            for start in stride(from: 0, to: count, by: SHA256.count) {
                let code = try MACContext(key: key)
                try code.update(block)
                try code.update(info + [UInt8(start / SHA256.count + 1)])
                block = try code.secret()
                unsafe block.withBytes { block in
                    let part = unsafe output[start..<min(start + SHA256.count, count)]
                    unsafe UnsafeMutableRawBufferPointer(rebasing: part).copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: block[..<part.count]))
                }
            }
        }
    }
}
