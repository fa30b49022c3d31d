import COpenSSL

/// One OpenSSL public key, freed with its last owner. Threads may share it, like a `KeyHandle`.
///
/// The corresponding C type is `EVP_PKEY`.
@safe
final class PublicKeyHandle: @unchecked Sendable {
    private let raw: OpaquePointer

    /// The padding of a key's signatures.
    enum Padding: Sendable {
        /// The default: RSASSA-PKCS1-v1_5 for RSA, no padding for other keys.
        case standard
        /// RSASSA-PSS with MGF1 of the same hash, and a salt as long as the hash.
        case pss
    }

    /// Reads a SubjectPublicKeyInfo. Throws if OpenSSL does not know the key.
    ///
    /// Source: RFC 5280 §4.1. The corresponding C function is `d2i_PUBKEY`.
    init(subjectPublicKeyInfo der: [UInt8]) throws(CryptographyError) {
        let key = unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_PUBKEY(nil, &position, bytes.count)
        }
        unsafe raw = try OpenSSL.pointer("d2i_PUBKEY", key)
    }

    deinit { unsafe EVP_PKEY_free(raw) }

    /// Throws unless the key is in its group.
    ///
    /// Source: SP 800-56A §5.6.2.3. The corresponding C function is `EVP_PKEY_public_check`.
    func check() throws(CryptographyError) {
        let context = try unsafe OpenSSL.pointer(
            "EVP_PKEY_CTX_new", EVP_PKEY_CTX_new(raw, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard try unsafe OpenSSL.verdict(
            "EVP_PKEY_public_check", EVP_PKEY_public_check(context))
        else { throw .malformed }
    }

    /// Gives the key to `body` for the duration of the call.
    func withKey<R: ~Copyable>(
        _ body: (OpaquePointer) throws(CryptographyError) -> R
    ) throws(CryptographyError) -> R {
        try unsafe body(raw)
    }

    /// Whether `signature` is a valid signature of `message` with SHA-256.
    ///
    /// The corresponding C function is `EVP_DigestVerify`.
    func verify(
        _ signature: [UInt8], of message: [UInt8], padding: Padding
    ) throws(CryptographyError) -> Bool {
        let context = try unsafe OpenSSL.pointer("EVP_MD_CTX_new", EVP_MD_CTX_new())
        defer { unsafe EVP_MD_CTX_free(context) }
        // The context owns these parameters.
        var parameters: OpaquePointer?
        let digest = try unsafe Algorithm.sha256
        try unsafe OpenSSL.one(
            "EVP_DigestVerifyInit",
            EVP_DigestVerifyInit(context, &parameters, digest, nil, raw))
        if padding == .pss {
            try unsafe OpenSSL.positive(
                "EVP_PKEY_CTX_set_rsa_padding",
                EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING))
            try unsafe OpenSSL.positive(
                "EVP_PKEY_CTX_set_rsa_pss_saltlen",
                EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST))
        }
        let result = unsafe EVP_DigestVerify(
            context, signature, signature.count, message, message.count)
        return try OpenSSL.verdict("EVP_DigestVerify", result)
    }
}
