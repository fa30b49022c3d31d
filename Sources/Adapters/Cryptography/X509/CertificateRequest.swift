package import Sessions

/// The content of a certificate that will be issued.
package struct CertificateRequest: Sendable {
    package enum Purpose: Equatable, Sendable {
        /// Signs server certificates, but no certificates of further authorities.
        case authority
        case server([CertificateHost])
    }

    package var purpose: Purpose
    /// For people; at most 64 characters are used.
    package var commonName: String
    package var notBefore: Timestamp
    package var notAfter: Timestamp

    /// Valid from one day before `now`, so that slightly slow clocks accept it at once.
    package init(_ purpose: Purpose, commonName: String, now: Timestamp, lifetime: Duration) {
        self.purpose = purpose
        self.commonName = commonName
        notBefore = now - .seconds(86_400)
        notAfter = now + lifetime
    }

    /// The identifiers and values of the extensions, in OpenSSL's syntax. Source: RFC 5280 §4.2.1.
    var extensions: [(identifier: Int32, value: String)] {
        switch purpose {
        case .authority:
            [
                (ExtensionID.basicConstraints, "critical,CA:TRUE,pathlen:0"),
                (ExtensionID.keyUsage, "critical,keyCertSign,cRLSign"),
                (ExtensionID.subjectKeyIdentifier, "hash"),
            ]
        case .server(let hosts):
            [
                (ExtensionID.basicConstraints, "critical,CA:FALSE"),
                (ExtensionID.keyUsage, "critical,digitalSignature"),
                (ExtensionID.extendedKeyUsage, "serverAuth"),
                (ExtensionID.subjectAlternativeName,
                 hosts.map(\.alternativeName).joined(separator: ",")),
                (ExtensionID.subjectKeyIdentifier, "hash"),
                (ExtensionID.authorityKeyIdentifier, "keyid:always"),
            ]
        }
    }
}
