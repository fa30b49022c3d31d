import AuthorityCore
import Sessions
import Wire

/// The expressions that Parse's SDKs write for `startsWith`, `endsWith` and `contains`:
/// `^\Qtext\E`, `\Qtext\E$` and `\Qtext\E`. No other expression is accepted, because matching some
/// expressions takes for ever.
struct TextPattern: Sendable {
    private let text: String
    private let isAtStart: Bool
    private let isAtEnd: Bool
    private let ignoresCase: Bool

    init(_ value: JSONValue, options: JSONValue?) throws(AuthorityError) {
        guard var rest = value.asString?[...], Self.isOption(options) else {
            throw WhereClause.bad("$regex takes a string; the only option is i")
        }
        isAtStart = rest.hasPrefix("^")
        if isAtStart { rest = rest.dropFirst() }
        isAtEnd = rest.hasSuffix("$")
        if isAtEnd { rest = rest.dropLast() }
        guard let text = Self.literal(rest) else {
            throw WhereClause.bad("$regex takes only literal text, with ^, $ and \\Q…\\E")
        }
        ignoresCase = options == .string("i")
        self.text = ignoresCase ? text.lowercased() : text
    }

    func fits(_ value: String) -> Bool {
        let value = ignoresCase ? value.lowercased() : value
        switch (isAtStart, isAtEnd) {
        case (true, true): return value == text
        case (true, false): return value.hasPrefix(text)
        case (false, true): return value.hasSuffix(text)
        case (false, false): return text.isEmpty || value.contains(text)
        }
    }

    private static func isOption(_ value: JSONValue?) -> Bool {
        value == nil || value == .string("") || value == .string("i")
    }

    /// The text between `\Q` and `\E`. Without them, the text itself, if none of its characters has
    /// a meaning in an expression; else nil.
    private static func literal(_ text: Substring) -> String? {
        if text.hasPrefix(#"\Q"#), text.hasSuffix(#"\E"#), text.utf8.count >= 4 {
            let inner = text.dropFirst(2).dropLast(2)
            return inner.contains(#"\"#) ? nil : String(inner)
        }
        let plain = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80..., 0x20, 0x2D, 0x3A, 0x40, 0x5F: true
            default: false
            }
        }
        return plain ? String(text) : nil
    }
}
