import COpenSSL
package import Sessions

/// HMAC with SHA-256. Source: RFC 2104 §2; RFC 4231.
package enum HMACSHA256 {
    /// Length of a code in bytes.
    package static let count = 32

    /// The 32-byte code of `message` with `key`. Throws `malformed` for an empty key.
    ///
    /// Compare codes with `constantTimeEquals`, never with `==`.
    package static func authenticate(
        _ message: [UInt8], key: SecretBytes
    ) throws(CryptographyError) -> [UInt8] {
        let code = try MACContext(key: key)
        try code.update(message)
        return try code.secret().reveal()
    }
}

/// One OpenSSL MAC computation, freed with its owner. OpenSSL wipes its key.
///
/// The corresponding C type is `EVP_MAC_CTX`.
@safe
struct MACContext: ~Copyable {
    private let raw: OpaquePointer

    /// Throws `malformed` for an empty key.
    init(key: SecretBytes) throws(CryptographyError) {
        guard key.count > 0 else { throw .malformed }
        let context = try unsafe OpenSSL.pointer(
            "EVP_MAC_CTX_new", EVP_MAC_CTX_new(Algorithm.hmac))
        do {
            try unsafe OpenSSL.one("EVP_MAC_init", Self.start(context, key))
        } catch {
            unsafe EVP_MAC_CTX_free(context)
            throw error
        }
        unsafe raw = context
    }

    deinit { unsafe EVP_MAC_CTX_free(raw) }

    /// The corresponding C function is `EVP_MAC_init`.
    private static func start(_ context: OpaquePointer, _ key: SecretBytes) -> Int32 {
        var parameters = unsafe ParameterList()
        unsafe parameters.add("digest", text: "SHA256")
        return unsafe parameters.withList { list in
            unsafe key.withBytes { key in
                let bytes = unsafe key.assumingMemoryBound(to: UInt8.self).baseAddress
                return unsafe EVP_MAC_init(context, bytes, key.count, list)
            }
        }
    }

    /// The corresponding C function is `EVP_MAC_update`.
    func update(_ bytes: [UInt8]) throws(CryptographyError) {
        try unsafe OpenSSL.one("EVP_MAC_update", EVP_MAC_update(raw, bytes, bytes.count))
    }

    func update(_ secret: SecretBytes) throws(CryptographyError) {
        let result = unsafe secret.withBytes { secret in
            let bytes = unsafe secret.assumingMemoryBound(to: UInt8.self).baseAddress
            return unsafe EVP_MAC_update(raw, bytes, secret.count)
        }
        try OpenSSL.one("EVP_MAC_update", result)
    }

    /// The code. Add nothing after this. The corresponding C function is `EVP_MAC_final`.
    func secret() throws(CryptographyError) -> SecretBytes {
        try unsafe SecretBytes.filled(count: HMACSHA256.count) {
            output throws(CryptographyError) in
            var written = 0
            let bytes = unsafe output.assumingMemoryBound(to: UInt8.self).baseAddress
            let result = unsafe EVP_MAC_final(raw, bytes, &written, output.count)
            try OpenSSL.one("EVP_MAC_final", result)
        }
    }
}
