import COpenSSL
import Sessions

/// An unsigned certificate. Signing consumes it.
///
/// The corresponding C type is `X509`.
@safe
struct CertificateDraft: ~Copyable {
    private let raw: OpaquePointer

    /// A draft for `key` with the content of `request`. Signing adds the extensions.
    static func make(
        _ request: CertificateRequest, key: CertificateKey
    ) throws(CryptographyError) -> CertificateDraft {
        let draft = try CertificateDraft()
        try draft.fill(request, key: key)
        return draft
    }

    private init() throws(CryptographyError) {
        unsafe raw = try OpenSSL.pointer("X509_new", X509_new())
    }

    /// Sets version 3 and a serial number of 128 random bits. Source: RFC 5280 §4.1.2.2.
    private func fill(
        _ request: CertificateRequest, key: CertificateKey
    ) throws(CryptographyError) {
        try unsafe OpenSSL.one("X509_set_version", X509_set_version(raw, Int(X509_VERSION_3)))
        try setSerial(RandomBytes.make(16))
        try unsafe Self.set(X509_getm_notBefore(raw), request.notBefore.seconds)
        try unsafe Self.set(X509_getm_notAfter(raw), request.notAfter.seconds)
        let name = Array(request.commonName.prefix(64).utf8)
        try unsafe OpenSSL.one(
            "X509_NAME_add_entry_by_NID",
            X509_NAME_add_entry_by_NID(
                X509_get_subject_name(raw), NID_commonName, Int32(V_ASN1_UTF8STRING), name,
                Int32(name.count), -1, 0))
        try unsafe key.withKey { key throws(CryptographyError) in
            try unsafe OpenSSL.one("X509_set_pubkey", X509_set_pubkey(raw, key))
        }
    }

    deinit { unsafe X509_free(raw) }

    private func setSerial(_ bytes: [UInt8]) throws(CryptographyError) {
        let number = try unsafe OpenSSL.pointer(
            "BN_bin2bn", BN_bin2bn(bytes, Int32(bytes.count), nil))
        defer { unsafe BN_free(number) }
        guard unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(raw)) != nil else {
            throw .openSSL("BN_to_ASN1_INTEGER")
        }
    }

    @unsafe
    private static func set(
        _ field: UnsafeMutablePointer<ASN1_TIME>?, _ seconds: Int64
    ) throws(CryptographyError) {
        guard unsafe ASN1_TIME_set(field, Int(seconds)) != nil else {
            throw .openSSL("ASN1_TIME_set")
        }
    }

    /// The signed certificate. Its issuer name is `issuer`'s, or its own name if there is none.
    ///
    /// Source: RFC 5280 §4.1.1.3; ECDSA with SHA-256. The corresponding C function is
    /// `X509_sign`.
    consuming func signed(
        by key: CertificateKey, issuer: Certificate?,
        _ extensions: [(identifier: Int32, value: String)]
    ) throws(CryptographyError) -> Certificate {
        if let issuer {
            try unsafe issuer.withRaw { issuer throws(CryptographyError) in
                try unsafe sign(by: key, issuer: issuer, extensions)
            }
        } else {
            try unsafe sign(by: key, issuer: raw, extensions)
        }
        try unsafe OpenSSL.one("X509_up_ref", X509_up_ref(raw))
        return try unsafe Certificate(owning: raw)
    }

    @unsafe
    private borrowing func sign(
        by key: CertificateKey, issuer: OpaquePointer,
        _ extensions: [(identifier: Int32, value: String)]
    ) throws(CryptographyError) {
        try unsafe OpenSSL.one(
            "X509_set_issuer_name",
            X509_set_issuer_name(raw, X509_get_subject_name(issuer)))
        for one in extensions {
            try unsafe add(one.identifier, one.value, issuer: issuer)
        }
        try unsafe key.withKey { key throws(CryptographyError) in
            // The result is the signature's length.
            try unsafe OpenSSL.positive("X509_sign", X509_sign(raw, key, Algorithm.sha256))
        }
    }

    @unsafe
    private borrowing func add(
        _ identifier: Int32, _ value: String, issuer: OpaquePointer
    ) throws(CryptographyError) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer, raw, nil, nil, 0)
        let made = try unsafe OpenSSL.pointer(
            "X509V3_EXT_conf_nid", X509V3_EXT_conf_nid(nil, &context, identifier, value))
        defer { unsafe X509_EXTENSION_free(made) }
        try unsafe OpenSSL.one("X509_add_ext", X509_add_ext(raw, made, -1))
    }
}

/// OpenSSL's numbers of the extensions in our certificates.
enum ExtensionID {
    static let basicConstraints = NID_basic_constraints
    static let keyUsage = NID_key_usage
    static let extendedKeyUsage = NID_ext_key_usage
    static let subjectAlternativeName = NID_subject_alt_name
    static let subjectKeyIdentifier = NID_subject_key_identifier
    static let authorityKeyIdentifier = NID_authority_key_identifier
}
