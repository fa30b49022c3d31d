import COpenSSL

/// What a certificate file says of itself, for somebody who looks whether it still holds.
package struct CertificateFacts: Equatable, Sendable {
    /// How long its first certificate is still valid; negative once it has expired.
    package let timeLeft: Duration

    /// Reads the first certificate among PEM blocks, whatever stands before it; nil where there
    /// is none. Nothing is verified.
    ///
    /// The corresponding C functions are `PEM_read_bio_X509` and `ASN1_TIME_diff`.
    package init?(pem: [UInt8]) {
        let bio = unsafe pem.withUnsafeBytes { bytes in
            unsafe BIO_new(BIO_s_mem()).map { bio in
                _ = unsafe BIO_write(bio, bytes.baseAddress, Int32(clamping: bytes.count))
                return unsafe bio
            }
        }
        guard let bio = unsafe bio else { return nil }
        defer { _ = unsafe BIO_free(bio) }
        guard let certificate = unsafe PEM_read_bio_X509(bio, nil, nil, nil) else {
            ERR_clear_error()
            return nil
        }
        defer { unsafe X509_free(certificate) }
        var (days, seconds): (Int32, Int32) = (0, 0)
        guard unsafe ASN1_TIME_diff(&days, &seconds, nil, X509_get0_notAfter(certificate)) == 1
        else { return nil }
        timeLeft = .seconds(Int64(days) * 86_400 + Int64(seconds))
    }
}
