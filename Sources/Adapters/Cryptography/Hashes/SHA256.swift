import COpenSSL

/// SHA-256. Source: FIPS 180-4 §6.2.
package enum SHA256 {
    /// Length of a digest in bytes.
    package static let count = 32

    /// The 32-byte digest of `bytes`.
    package static func digest(_ bytes: [UInt8]) throws(CryptographyError) -> [UInt8] {
        try digest(bytes.span)
    }

    /// The 32-byte digest of bytes that are not copied.
    ///
    /// The corresponding C function is `EVP_Digest`.
    package static func digest(_ bytes: Span<UInt8>) throws(CryptographyError) -> [UInt8] {
        let algorithm = try unsafe Algorithm.sha256
        var digest = [UInt8](repeating: 0, count: count)
        let result = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe EVP_Digest(bytes.baseAddress, bytes.count, &digest, nil, algorithm, nil)
        }
        try OpenSSL.one("EVP_Digest", result)
        return digest
    }
}
