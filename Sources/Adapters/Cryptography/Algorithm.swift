import COpenSSL

/// The algorithms in use, fetched from OpenSSL once for the whole process.
///
/// Each fetch costs a search under a lock, and each use of a name such as `EVP_sha256` fetches
/// again. A fetched algorithm never changes, and many threads may use it. It is never freed.
/// Source: OpenSSL crypto(7), Performance.
enum Algorithm {
    static var aes256GCM: OpaquePointer {
        get throws(CryptographyError) {
            try unsafe OpenSSL.pointer("EVP_CIPHER_fetch", fetchedAES256GCM)
        }
    }

    static var aes128GCM: OpaquePointer {
        get throws(CryptographyError) {
            try unsafe OpenSSL.pointer("EVP_CIPHER_fetch", fetchedAES128GCM)
        }
    }

    static var sha256: OpaquePointer {
        get throws(CryptographyError) { try unsafe OpenSSL.pointer("EVP_MD_fetch", fetchedSHA256) }
    }

    static var sha512: OpaquePointer {
        get throws(CryptographyError) { try unsafe OpenSSL.pointer("EVP_MD_fetch", fetchedSHA512) }
    }

    static var hmac: OpaquePointer {
        get throws(CryptographyError) { try unsafe OpenSSL.pointer("EVP_MAC_fetch", fetchedHMAC) }
    }

    // `unsafe` because the compiler cannot see that OpenSSL shares these between threads.
    nonisolated(unsafe) private static let fetchedAES256GCM =
        unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)
    nonisolated(unsafe) private static let fetchedAES128GCM =
        unsafe EVP_CIPHER_fetch(nil, "AES-128-GCM", nil)
    nonisolated(unsafe) private static let fetchedSHA256 = unsafe EVP_MD_fetch(nil, "SHA256", nil)
    nonisolated(unsafe) private static let fetchedSHA512 = unsafe EVP_MD_fetch(nil, "SHA512", nil)
    nonisolated(unsafe) private static let fetchedHMAC = unsafe EVP_MAC_fetch(nil, "HMAC", nil)
}
