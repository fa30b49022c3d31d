import COpenSSL
package import Sessions

/// HMAC with SHA-256. Source: RFC 2104 §2; RFC 4231.
package enum HMACSHA256 {
    /// Length of a code in bytes.
    package static let count = 32

    /// The 32-byte code of `message` under `key`. An empty key is `malformed`.
    ///
    /// Compare codes with `constantTimeEquals`, never with `==`.
    package static func authenticate(
        _ message: [UInt8], key: SecretBytes
    ) throws(CryptographyError) -> [UInt8] {
        guard key.count > 0 else { throw .malformed }
        return try MACContext().authenticate(message, key: key)
    }
}

/// One OpenSSL message authentication, freed with its owner; OpenSSL wipes its key.
///
/// The corresponding C type is `EVP_MAC_CTX`.
@safe
private struct MACContext: ~Copyable {
    private let raw: OpaquePointer

    init() throws(CryptographyError) {
        unsafe raw = try OpenSSL.pointer("EVP_MAC_CTX_new", EVP_MAC_CTX_new(Algorithm.hmac))
    }

    deinit { unsafe EVP_MAC_CTX_free(raw) }

    func authenticate(
        _ message: [UInt8], key: SecretBytes
    ) throws(CryptographyError) -> [UInt8] {
        var parameters = unsafe ParameterList()
        unsafe parameters.add("digest", text: "SHA256")
        let started = unsafe parameters.withList { list in
            unsafe key.withBytes { key in
                let bytes = unsafe key.assumingMemoryBound(to: UInt8.self).baseAddress
                return unsafe EVP_MAC_init(raw, bytes, key.count, list)
            }
        }
        try OpenSSL.one("EVP_MAC_init", started)
        try unsafe OpenSSL.one("EVP_MAC_update", EVP_MAC_update(raw, message, message.count))
        var code = [UInt8](repeating: 0, count: HMACSHA256.count)
        var written = 0
        try unsafe OpenSSL.one("EVP_MAC_final", EVP_MAC_final(raw, &code, &written, code.count))
        return code
    }
}
