import COpenSSL

/// The host that a server certificate is for: a host name or a numeric address.
///
/// Source: RFC 5280 §4.2.1.6 (`dNSName`, `iPAddress`).
package struct CertificateHost: Hashable, Sendable {
    /// An IPv6 address without brackets.
    package let text: String
    package let isAddress: Bool

    /// Nil unless the text is an address, or 1 to 253 characters of a host name.
    package init?(_ text: String) {
        let characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:"
        guard (1...253).contains(text.utf8.count),
            text.utf8.allSatisfy({ characters.utf8.contains($0) })
        else { return nil }
        let address = unsafe a2i_IPADDRESS(text)
        ERR_clear_error()
        unsafe ASN1_OCTET_STRING_free(address)
        unsafe isAddress = address != nil
        guard isAddress || !text.utf8.contains(UInt8(ascii: ":")) else { return nil }
        self.text = text
    }

    /// The text for OpenSSL's configuration. No allowed character has a special meaning there.
    var alternativeName: String { isAddress ? "IP:\(text)" : "DNS:\(text)" }
}
