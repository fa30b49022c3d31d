/// The authority's name for an external login provider, such as `facebook`.
///
/// 1 to 32 characters of `[a-z0-9_-]`, the first a letter. Never a name that is already one of
/// `CreatedWith.Provider`.
package struct LoginProvider: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init?(_ text: String) {
        guard (1...32).contains(text.utf8.count), let first = text.utf8.first,
            Self.isLetter(first),
            text.utf8.allSatisfy({ byte in
                Self.isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            }),
            CreatedWith.Provider(rawValue: text) == nil
        else { return nil }
        description = text
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }
}

extension CreatedWith {
    /// A session that began with an identity from a login provider.
    package init(_ action: Action, by provider: LoginProvider) {
        self.init(action: action.rawValue, authProvider: provider.description)
    }

    /// A session begun by a user whose own session has the provider of `other`.
    package init(_ action: Action, asIn other: CreatedWith) {
        self.init(action: action.rawValue, authProvider: other.authProvider)
    }
}
