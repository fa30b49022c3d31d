/// A secret text token. Each kind has its own type, so one kind cannot be used as another.
package protocol SecretToken: Sendable {
    /// The prefix of every token of this kind.
    static var prefix: String { get }
    /// The largest size of a token of this kind, in bytes.
    static var limit: Int { get }
    var secret: SecretBytes { get }
    init(unchecked secret: SecretBytes)
}

extension SecretToken {
    /// Parses a token from a peer: printable ASCII, the right prefix, within the limit.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), text.utf8.count > Self.prefix.utf8.count,
            text.utf8.count <= Self.limit, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        self.init(unchecked: SecretBytes(Array(text.utf8)))
    }

    /// The token as text, for a message that will be sealed, or for encrypted storage.
    package func reveal() -> String { String(decoding: secret.reveal(), as: UTF8.self) }

    /// Whether both are the same token, compared in constant time.
    package func matches(_ other: Self) -> Bool { secret.matches(other.secret) }
}

/// `r:` + base64url of 32 random bytes. Opaque; identifies a session at the authority.
package struct SessionToken: SecretToken {
    package static let prefix = "r:"
    package static let limit = 1024
    package let secret: SecretBytes
    package init(unchecked secret: SecretBytes) { self.secret = secret }
}

/// `rt:` + base64url. Opaque to all but the authority; exchanged once for its successor.
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

/// A JWT in which a login provider states who a user is. Source: OpenID Connect Core §2.
package struct IDToken: SecretToken {
    package static let prefix = ""
    package static let limit = 16 * 1024
    package let secret: SecretBytes
    package init(unchecked secret: SecretBytes) { self.secret = secret }

    /// The token without its signature. Two tokens with the same content have the same signed part,
    /// even if one signature was changed into another valid one.
    package var signedPart: SecretBytes {
        let bytes = secret.reveal()
        return SecretBytes(bytes.prefix(upTo: bytes.lastIndex(of: UInt8(ascii: ".")) ?? 0))
    }
}
