import COpenSSL
package import Sessions

/// Unpredictable bytes from OpenSSL's generator, which the kernel seeds.
package enum RandomBytes {
    /// The most bytes of one call; a larger count is a mistake of the caller.
    static let limit = 1 << 20

    /// `count` random bytes that need not be secret: nonces, ids, salts. At most 1 MiB.
    ///
    /// Throws `malformed` for a count out of range, and `openSSL` if the generator fails. There is
    /// no weaker fallback. The corresponding C function is `RAND_bytes`.
    package static func make(_ count: Int) throws(CryptographyError) -> [UInt8] {
        guard (0...limit).contains(count) else { throw .malformed }
        var bytes = [UInt8](repeating: 0, count: count)
        try unsafe OpenSSL.one("RAND_bytes", RAND_bytes(&bytes, Int32(count)))
        return bytes
    }

    /// `count` random bytes that must stay secret: keys, tokens. At most 1 MiB.
    ///
    /// They come from a separate generator, so the output of `make` reveals nothing about them.
    /// The corresponding C function is `RAND_priv_bytes`.
    package static func secret(_ count: Int) throws(CryptographyError) -> SecretBytes {
        guard (0...limit).contains(count) else { throw .malformed }
        return try unsafe SecretBytes.filled(count: count) {
            memory throws(CryptographyError) in
            let bytes = unsafe memory.assumingMemoryBound(to: UInt8.self).baseAddress
            try unsafe OpenSSL.one("RAND_priv_bytes", RAND_priv_bytes(bytes, Int32(count)))
        }
    }
}
