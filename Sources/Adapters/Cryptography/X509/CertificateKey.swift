import COpenSSL
package import Sessions

/// The private key of a certificate. Our own keys are for ECDSA on P-256. An imported key may be of
/// any kind that OpenSSL knows.
///
/// The key never changes and OpenSSL only reads it, so threads may share it. OpenSSL wipes it when
/// it is freed. The corresponding C type is `EVP_PKEY`.
@safe
package final class CertificateKey: @unchecked Sendable {
    private let raw: OpaquePointer

    /// A new key on P-256.
    ///
    /// Source: FIPS 186-5 §A.2. The corresponding C function is `EVP_PKEY_generate`.
    package init() throws(CryptographyError) {
        let context = try unsafe OpenSSL.pointer(
            "EVP_PKEY_CTX_new_from_name", EVP_PKEY_CTX_new_from_name(nil, "EC", nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        try unsafe OpenSSL.positive("EVP_PKEY_keygen_init", EVP_PKEY_keygen_init(context))
        try unsafe OpenSSL.positive(
            "EVP_PKEY_CTX_set_group_name", EVP_PKEY_CTX_set_group_name(context, "P-256"))
        var key: OpaquePointer?
        try unsafe OpenSSL.positive("EVP_PKEY_generate", EVP_PKEY_generate(context, &key))
        unsafe raw = try OpenSSL.pointer("EVP_PKEY_generate", key)
    }

    /// The first private key in a PEM text. Other entries are skipped.
    ///
    /// Throws `malformed` if there is none, or if it needs a passphrase, because nobody can enter
    /// one. The corresponding C function is `PEM_read_bio_PrivateKey`.
    package init(pem: SecretBytes) throws(CryptographyError) {
        let key = try unsafe pem.withBytes { bytes throws(CryptographyError) in
            try unsafe PEMText.reading(bytes) { text in
                unsafe PEM_read_bio_PrivateKey(text, nil, { _, _, _, _ in -1 }, nil)
            }
        }
        guard let key = unsafe key else {
            ERR_clear_error()
            throw .malformed
        }
        unsafe raw = key
    }

    deinit { unsafe EVP_PKEY_free(raw) }

    /// The key as PKCS #8 in PEM, not encrypted.
    ///
    /// Source: RFC 5958 §2, RFC 7468 §10. The corresponding C function is
    /// `PEM_write_bio_PrivateKey`.
    package func pem() throws(CryptographyError) -> SecretBytes {
        let text = try PEMText()
        try unsafe text.withText { text throws(CryptographyError) in
            try unsafe OpenSSL.one(
                "PEM_write_bio_PrivateKey",
                PEM_write_bio_PrivateKey(text, raw, nil, nil, 0, nil, nil))
        }
        return unsafe try text.withBytes { unsafe SecretBytes($0) }
    }

    /// Gives the key to `body` for the duration of the call.
    package func withKey<R: ~Copyable>(
        _ body: (OpaquePointer) throws(CryptographyError) -> R
    ) throws(CryptographyError) -> R {
        try unsafe body(raw)
    }
}
