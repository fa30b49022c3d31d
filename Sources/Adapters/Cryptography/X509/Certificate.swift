import COpenSSL
package import Sessions

/// One X.509 certificate. It never changes, so threads may share it.
///
/// Source: RFC 5280. The corresponding C type is `X509`.
@safe
package final class Certificate: @unchecked Sendable {
    private let raw: OpaquePointer
    /// The SHA-256 of its DER form, for people to compare.
    package let sha256: [UInt8]
    /// The first and the last time at which it is valid, in whole seconds.
    package let notBefore: Timestamp
    package let notAfter: Timestamp

    /// Takes ownership of `raw` from the caller.
    @unsafe
    init(owning raw: OpaquePointer) throws(CryptographyError) {
        unsafe self.raw = raw
        do throws(CryptographyError) {
            sha256 = try unsafe Self.digest(of: raw)
            notBefore = try unsafe Self.time(X509_get0_notBefore(raw))
            notAfter = try unsafe Self.time(X509_get0_notAfter(raw))
        } catch {
            unsafe X509_free(raw)
            throw error
        }
    }

    deinit { unsafe X509_free(raw) }

    /// The certificates of a PEM text in their order, at most `limit`. Other entries, such as a
    /// key, are skipped.
    ///
    /// Throws `malformed` if there are none or too many, or if one cannot be read. The
    /// corresponding C function is `PEM_read_bio_X509`.
    package static func chain(
        pem: [UInt8], atMost limit: Int = 16
    ) throws(CryptographyError) -> [Certificate] {
        ERR_clear_error()
        let span = pem.span
        let pointers = try unsafe span.withUnsafeBytes { bytes throws(CryptographyError) in
            try unsafe PEMText.reading(bytes) { text in
                var found: [OpaquePointer] = unsafe []
                while unsafe found.count <= limit,
                    let next = unsafe PEM_read_bio_X509(text, nil, nil, nil)
                {
                    unsafe found.append(next)
                }
                return unsafe found
            }
        }
        // The text was read completely only if the last error is that no further entry begins.
        let isWhole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
        ERR_clear_error()
        var certificates: [Certificate] = []
        for unsafe pointer in unsafe pointers {
            // A bad one is freed at once. The others still need an owner, so the loop continues.
            if let one = try? unsafe Certificate(owning: pointer) { certificates.append(one) }
        }
        guard isWhole, unsafe certificates.count == pointers.count,
            (1...limit).contains(certificates.count) else { throw .malformed }
        return certificates
    }

    /// The certificate as PEM. Source: RFC 7468 §5.
    package func pem() throws(CryptographyError) -> [UInt8] {
        let text = try PEMText()
        try unsafe text.withText { text throws(CryptographyError) in
            try unsafe OpenSSL.one("PEM_write_bio_X509", PEM_write_bio_X509(text, raw))
        }
        return unsafe try text.withBytes { unsafe Array($0) }
    }

    /// Whether it may sign other certificates and is signed by its own key.
    package var isRoot: Bool {
        defer { ERR_clear_error() }
        return unsafe X509_check_ca(raw) == 1 && X509_self_signed(raw, 1) == 1
    }

    /// Whether this certificate's key signed `other`.
    package func signed(_ other: Certificate) -> Bool {
        defer { ERR_clear_error() }
        return unsafe X509_check_issued(raw, other.raw) == X509_V_OK
            && X509_verify(other.raw, X509_get0_pubkey(raw)) == 1
    }

    /// Whether `key` is the private key of this certificate.
    package func fits(_ key: CertificateKey) -> Bool {
        defer { ERR_clear_error() }
        let result = try? unsafe key.withKey { unsafe X509_check_private_key(raw, $0) }
        return result == 1
    }

    /// Whether it is valid for a host, as a TLS client checks it.
    package func covers(_ host: CertificateHost) -> Bool {
        defer { ERR_clear_error() }
        return host.isAddress
            ? unsafe X509_check_ip_asc(raw, host.text, 0) == 1
            : unsafe X509_check_host(raw, host.text, host.text.utf8.count, 0, nil) == 1
    }

    /// Gives the `X509` to `body` for the duration of the call.
    package func withRaw<R>(
        _ body: (OpaquePointer) throws(CryptographyError) -> R
    ) throws(CryptographyError) -> R {
        try unsafe body(raw)
    }

    @unsafe
    private static func digest(of raw: OpaquePointer) throws(CryptographyError) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        try unsafe OpenSSL.one(
            "X509_digest", X509_digest(raw, Algorithm.sha256, &digest, &count))
        return Array(digest.prefix(Int(count)))
    }

    /// Saturates outside the range of a `Timestamp`.
    @unsafe
    private static func time(
        _ time: UnsafePointer<ASN1_TIME>?
    ) throws(CryptographyError) -> Timestamp {
        let epoch = unsafe ASN1_TIME_set(nil, 0)
        defer { unsafe ASN1_STRING_free(epoch) }
        var (days, seconds): (Int32, Int32) = (0, 0)
        try unsafe OpenSSL.one("ASN1_TIME_diff", ASN1_TIME_diff(&days, &seconds, epoch, time))
        return Timestamp(milliseconds: (Int64(days) * 86_400 + Int64(seconds)) * 1000)
    }
}
