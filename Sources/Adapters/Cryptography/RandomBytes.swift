import COpenSSL
package import Sessions

/// Bytes nobody can foretell, from OpenSSL's generator, which the kernel seeds.
package enum RandomBytes {
    /// The most bytes one call gives; more is a caller's mistake.
    static let limit = 1 << 20

    /// `count` random bytes that others may see: nonces, ids, salts. At most 1 MiB.
    ///
    /// Throws `malformed` for a count out of range, `library` when the generator fails; no
    /// weaker source takes its place. The corresponding C function is `RAND_bytes`.
    package static func make(_ count: Int) throws(CryptographyError) -> [UInt8] {
        guard (0...limit).contains(count) else { throw .malformed }
        var bytes = [UInt8](repeating: 0, count: count)
        try unsafe OpenSSL.one("RAND_bytes", RAND_bytes(&bytes, Int32(count)))
        return bytes
    }

    /// `count` random bytes that stay secret: keys, tokens. At most 1 MiB.
    ///
    /// They come from a generator of their own, so that nothing about them shows in `make`.
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
