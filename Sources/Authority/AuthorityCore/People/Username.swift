@_spi(_Unicode) import Swift

/// A login name: 1 to 256 bytes of text in the form NFC, without control characters and characters
/// that are invisible or reorder text.
///
/// No code builds a topic, a path or a broker login from it.
package struct Username: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Two users cannot have the same key.
    var key: String { Self.key(of: description) }

    /// Accepts text of any form and converts it to NFC.
    package init?(_ text: String) {
        guard let name = ShownText(text, limit: 256)?.text else { return nil }
        let key = Self.key(of: name)
        guard !key.isEmpty, !Self.reserved.contains(key) else { return nil }
        description = name
    }

    /// The names of those who are no users, in the audit log, and the names that a path cannot end
    /// with.
    private static let reserved: Set<String> = [
        "authority", "board", "console", "init", "the master key", "unknown", ".", "..",
    ]

    /// The same for names that look the same. It has lower case, composed characters, no marks that
    /// have no look, and one space where the name has spaces of any kind and number.
    package static func key(of name: String) -> String {
        let visible = name.unicodeScalars.filter { !$0.properties.isDefaultIgnorableCodePoint }
        let folded = String(String.UnicodeScalarView(visible)).lowercased()
        let words = ShownText.composed(folded).unicodeScalars.split {
            $0.properties.generalCategory == .spaceSeparator
        }
        return words.map { String($0) }.joined(separator: " ")
    }
}

/// An e-mail address. Nothing shows that it belongs to its user.
package struct EmailAddress: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Two users cannot have the same key.
    package var key: String { Username.key(of: description) }

    /// Text with one `@` and no space, 3 to 254 bytes. Source: RFC 5321 §4.5.3.1.3; Parse server,
    /// `RestWrite._validateEmail`.
    package init?(_ text: String) {
        guard let address = ShownText(text, limit: 254)?.text else { return nil }
        let parts = address.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
            !address.unicodeScalars.contains(where: \.properties.isWhitespace)
        else { return nil }
        description = address
    }
}

/// One line of text as people see it: in the form NFC, and without characters that move a cursor,
/// reorder text or are invisible.
struct ShownText {
    let text: String

    init?(_ raw: String, limit: Int) {
        // No character grows to more than three times its bytes.
        // Source: UAX #15, "Detecting Normalization Forms" (expansion factors of NFC).
        guard raw.utf8.count <= 3 * limit else { return nil }
        let text = Self.composed(raw)
        guard (1...limit).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy(Self.isShown)
        else { return nil }
        self.text = text
    }

    /// The form NFC. Source: UAX #15.
    static func composed(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text._nfc { scalars.append(scalar) }
        return String(scalars)
    }

    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
            .unassigned: false
        default: true
        }
    }
}
