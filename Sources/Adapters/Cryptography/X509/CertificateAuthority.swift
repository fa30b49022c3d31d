package import Sessions

/// A certificate that signs server certificates, with its private key.
package struct CertificateAuthority: Sendable {
    package let certificate: Certificate
    package let key: CertificateKey

    /// A new, self-signed certificate and its key.
    package init(
        commonName: String, now: Timestamp, lifetime: Duration
    ) throws(CryptographyError) {
        let request = CertificateRequest(
            .authority, commonName: commonName, now: now, lifetime: lifetime)
        key = try CertificateKey()
        certificate = try CertificateDraft.make(request, key: key)
            .signed(by: key, issuer: nil, request.extensions)
    }

    /// A stored certificate. Throws `malformed` unless it is a root and `key` is its key.
    package init(certificate: Certificate, key: CertificateKey) throws(CryptographyError) {
        guard certificate.isRoot, certificate.fits(key) else { throw .malformed }
        self.certificate = certificate
        self.key = key
    }

    /// A certificate for `request` and `key`. It expires no later than this authority's own. Throws
    /// `malformed` for a server without hosts, and for an authority.
    package func issue(
        _ request: CertificateRequest, for key: CertificateKey
    ) throws(CryptographyError) -> Certificate {
        guard request.purpose != .server([]), request.purpose != .authority else {
            throw .malformed
        }
        var request = request
        request.notAfter = min(request.notAfter, certificate.notAfter)
        return try CertificateDraft.make(request, key: key)
            .signed(by: self.key, issuer: certificate, request.extensions)
    }
}
