import COpenSSL
package import Sessions

/// HKDF with SHA-256. Source: RFC 5869 §2.
package enum HKDFSHA256 {
    /// The most bytes one derivation gives: 255 blocks. Source: RFC 5869 §2.3.
    package static let limit = 255 * SHA256.count
    /// The most bytes of `info`. OpenSSL 3.0 holds 2048; no use here comes near.
    package static let infoLimit = 1024

    /// Derives `count` bytes, 1 to 8160, by extract and expand.
    ///
    /// Throws `malformed` for an empty key, a count out of range or an `info` over 1 KiB.
    /// An empty salt stands for 32 zero bytes. Source: RFC 5869 §2.1.
    package static func derive(
        from key: SecretBytes, salt: [UInt8], info: [UInt8], count: Int
    ) throws(CryptographyError) -> SecretBytes {
        try run("EXTRACT_AND_EXPAND", key: key, salt: SecretBytes(salt), info: info, count: count)
    }

    /// A 32-byte pseudorandom key. The salt may be secret too. Source: RFC 5869 §2.2.
    static func extract(
        from key: SecretBytes, salt: SecretBytes
    ) throws(CryptographyError) -> SecretBytes {
        try run("EXTRACT_ONLY", key: key, salt: salt, info: [], count: SHA256.count)
    }

    /// Stretches a pseudorandom key. Source: RFC 5869 §2.3.
    static func expand(
        from key: SecretBytes, info: [UInt8], count: Int
    ) throws(CryptographyError) -> SecretBytes {
        try run("EXPAND_ONLY", key: key, salt: SecretBytes([]), info: info, count: count)
    }

    private static func run(
        _ mode: StaticString, key: SecretBytes, salt: SecretBytes, info: [UInt8], count: Int
    ) throws(CryptographyError) -> SecretBytes {
        guard key.count > 0, (1...limit).contains(count), info.count <= infoLimit else {
            throw .malformed
        }
        let context = try KDFContext()
        return try unsafe SecretBytes.filled(count: count) {
            output throws(CryptographyError) in
            let result = unsafe key.withBytes { key in
                unsafe salt.withBytes { salt in
                    unsafe info.withUnsafeBytes { info in
                        var parameters = unsafe ParameterList()
                        unsafe parameters.add("mode", text: mode)
                        unsafe parameters.add("digest", text: "SHA256")
                        unsafe parameters.add("key", bytes: key)
                        unsafe parameters.add("salt", bytes: salt)
                        unsafe parameters.add("info", bytes: info)
                        return unsafe context.derive(parameters, into: output)
                    }
                }
            }
            try OpenSSL.one("EVP_KDF_derive", result)
        }
    }
}

/// One OpenSSL key derivation, freed with its owner; OpenSSL wipes the keys it held.
///
/// The corresponding C type is `EVP_KDF_CTX`.
@safe
private struct KDFContext: ~Copyable {
    private let raw: OpaquePointer

    init() throws(CryptographyError) {
        unsafe raw = try OpenSSL.pointer("EVP_KDF_CTX_new", EVP_KDF_CTX_new(Algorithm.hkdf))
    }

    deinit { unsafe EVP_KDF_CTX_free(raw) }

    /// The corresponding C function is `EVP_KDF_derive`.
    func derive(_ parameters: ParameterList, into output: UnsafeMutableRawBufferPointer) -> Int32 {
        let bytes = unsafe output.assumingMemoryBound(to: UInt8.self).baseAddress
        return unsafe parameters.withList { unsafe EVP_KDF_derive(raw, bytes, output.count, $0) }
    }
}
