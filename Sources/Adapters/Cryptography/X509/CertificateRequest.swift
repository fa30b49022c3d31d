package import Sessions

/// What a certificate is to say.
package struct CertificateRequest: Sendable {
    package enum Purpose: Equatable, Sendable {
        /// It signs servers' certificates, and none that sign others.
        case authority
        case server([CertificateHost])
    }

    package var purpose: Purpose
    /// For people; 64 characters at most are kept.
    package var commonName: String
    package var notBefore: Timestamp
    package var notAfter: Timestamp

    /// Valid from a day before `now`: clocks that are a little behind take it at once.
    package init(_ purpose: Purpose, commonName: String, now: Timestamp, lifetime: Duration) {
        self.purpose = purpose
        self.commonName = commonName
        notBefore = now - .seconds(86_400)
        notAfter = now + lifetime
    }

    /// Identifiers and values of its extensions, in OpenSSL's words. Source: RFC 5280 §4.2.1.
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
