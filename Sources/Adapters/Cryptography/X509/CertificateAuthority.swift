package import Sessions

/// A certificate that signs servers', and its key.
package struct CertificateAuthority: Sendable {
    package let certificate: Certificate
    package let key: CertificateKey

    /// A new one that signed itself.
    package init(
        commonName: String, now: Timestamp, lifetime: Duration
    ) throws(CryptographyError) {
        let request = CertificateRequest(
            .authority, commonName: commonName, now: now, lifetime: lifetime)
        key = try CertificateKey()
        certificate = try CertificateDraft.make(request, key: key)
            .signed(by: key, issuer: nil, request.extensions)
    }

    /// One that was kept. Throws `malformed` unless the key is its own and it may sign.
    package init(certificate: Certificate, key: CertificateKey) throws(CryptographyError) {
        guard certificate.isRoot, certificate.fits(key) else { throw .malformed }
        self.certificate = certificate
        self.key = key
    }

    /// A certificate for what is asked and `key`. It ends with this authority's own at the
    /// latest; one for no host at all is `malformed`.
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
