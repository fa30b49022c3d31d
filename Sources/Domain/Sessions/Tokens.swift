/// A text token whose content is secret. Each kind has its own type, so none can stand for
/// another.
package protocol SecretToken: Sendable {
    /// What every token of this kind begins with.
    static var prefix: String { get }
    /// The most bytes a token of this kind may have.
    static var limit: Int { get }
    var secret: SecretBytes { get }
    init(unchecked secret: SecretBytes)
}

extension SecretToken {
    /// Parses a token as it came from a peer: printable ASCII, its prefix, its limit.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), text.utf8.count > Self.prefix.utf8.count,
            text.utf8.count <= Self.limit, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        self.init(unchecked: SecretBytes(Array(text.utf8)))
    }

    /// The token as text, for a message that is about to be sealed or kept encrypted.
    package func reveal() -> String { String(decoding: secret.reveal(), as: UTF8.self) }

    /// Whether both are the same token, compared in constant time.
    package func matches(_ other: Self) -> Bool { secret.matches(other.secret) }
}

/// `r:` + base64url of 32 random bytes. Opaque; it names a session at the authority.
package struct SessionToken: SecretToken {
    package static let prefix = "r:"
    package static let limit = 1024
    package let secret: SecretBytes
    package init(unchecked secret: SecretBytes) { self.secret = secret }
}

/// `rt:` + base64url. Opaque to all but the authority; it buys one successor.
package struct RefreshToken: SecretToken {
    package static let prefix = "rt:"
    package static let limit = 1024
    package let secret: SecretBytes
    package init(unchecked secret: SecretBytes) { self.secret = secret }
}

/// A JWT of type `at+jwt`, signed by the authority with Ed25519.
package struct AccessToken: SecretToken {
    package static let prefix = ""
    package static let limit = 16 * 1024
    package let secret: SecretBytes
    package init(unchecked secret: SecretBytes) { self.secret = secret }
}

/// A JWT by which somebody else says who a person is. Source: OpenID Connect Core §2.
package struct IDToken: SecretToken {
    package static let prefix = ""
    package static let limit = 16 * 1024
    package let secret: SecretBytes
    package init(unchecked secret: SecretBytes) { self.secret = secret }

    /// All but the signature. Two tokens that say the same have this in common, even if the
    /// signature of one was changed into another that verifies.
    package var signedPart: SecretBytes {
        let bytes = secret.reveal()
        return SecretBytes(bytes.prefix(upTo: bytes.lastIndex(of: UInt8(ascii: ".")) ?? 0))
    }
}
