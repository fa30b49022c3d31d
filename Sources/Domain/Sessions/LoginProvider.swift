/// Somebody else who says who a person is, as this authority calls them: `facebook`.
///
/// 1 to 32 of `[a-z0-9_-]`, the first a letter; never a name that a session's `authProvider`
/// has of its own.
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
    /// Begun with what somebody else says of a person.
    package init(_ action: Action, by provider: LoginProvider) {
        self.init(action: action.rawValue, authProvider: provider.description)
    }

    /// Begun by somebody whose own session was begun in the way of `other`.
    package init(_ action: Action, asIn other: CreatedWith) {
        self.init(action: action.rawValue, authProvider: other.authProvider)
    }
}
