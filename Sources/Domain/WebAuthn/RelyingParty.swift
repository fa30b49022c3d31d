/// The site that passkeys are made for. Its address is the one at which people open the page.
///
/// Source: WebAuthn Level 2 §4 (RP ID, Relying Party) and §5.1.2.
package struct RelyingParty: Equatable, Sendable {
    /// The RP id: the host.
    package let id: String
    /// As browsers write it: without a default port.
    package let origin: String
    /// Why no passkey can work here. Nil: passkeys work.
    package let problem: Problem?

    package enum Problem: String, Sendable, CaseIterable {
        /// The host is an IP address, and a passkey needs a name.
        case address
        /// Plain HTTP to a host that is not localhost: browsers refuse passkeys there.
        case insecure

        package var words: String {
            switch self {
            case .address: "`public_url` is an address and has no name"
            case .insecure: "`public_url` is plain http and not localhost"
            }
        }
    }

    /// The site of a URL that begins with `https://` or `http://`, such as `[http] public_url`.
    package init(publicURL: String) {
        let isSecure = publicURL.hasPrefix("https://")
        let scheme = isSecure ? "https://" : "http://"
        let place = publicURL.dropFirst(scheme.count).prefix { $0 != "/" }.lowercased()
        let hasBrackets = place.hasPrefix("[")
        let host = hasBrackets
            ? String(place.prefix { $0 != "]" } + "]") : String(place.prefix { $0 != ":" })
        let port = place.dropFirst(host.count).drop { $0 == ":" }
        let isDefault = port.isEmpty || port == (isSecure ? "443" : "80")
        id = host
        origin = scheme + host + (isDefault ? "" : ":\(port)")
        let isLocal = host == "localhost" || host.hasSuffix(".localhost")
        problem = hasBrackets || !Self.isName(host) ? .address
            : isSecure || isLocal ? nil : .insecure
    }

    /// Whether browsers read a host as a name. A host whose last label is a number is an IPv4
    /// address. Source: WHATWG URL §3.5 and §3.6.
    private static func isName(_ host: String) -> Bool {
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard let last = labels.last, labels.allSatisfy({ !$0.isEmpty }),
            host.utf8.allSatisfy(isInName)
        else { return false }
        return !last.utf8.allSatisfy { (0x30...0x39).contains($0) } && !last.hasPrefix("0x")
    }

    private static func isInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: false
        }
    }
}
