/// The name of a class of records: `_?[A-Za-z][A-Za-z0-9_]{0,127}`, ASCII only.
///
/// Source: the wire contract, Names.
package struct ClassName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package static let user = Self(literal: "_User")
    package static let session = Self(literal: "_Session")
    package static let role = Self(literal: "_Role")

    private init(literal: String) { description = literal }

    /// Nil for anything outside the alphabet, look-alikes of other scripts included.
    package init?(_ text: some StringProtocol) {
        var bytes = text.utf8[...]
        if bytes.first == UInt8(ascii: "_") { bytes = bytes.dropFirst() }
        guard (1...128).contains(bytes.count), let first = bytes.first, first.isLetter,
            bytes.allSatisfy({ $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") })
        else { return nil }
        description = String(text)
    }

    /// Whether no rule whatever can open it: `_User`, `_Session`, `_Role`.
    package var isProtected: Bool {
        description == "_User" || description == "_Session" || description == "_Role"
    }

    /// Whether it belongs to the system: all that begin with `_`.
    package var isReserved: Bool { description.utf8.first == UInt8(ascii: "_") }
}

/// The name of a program on the board: `[a-z0-9][a-z0-9-]{0,31}`.
///
/// Source: the wire contract, Names.
package struct AppName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...32).contains(bytes.count), bytes.first != UInt8(ascii: "-"),
            bytes.allSatisfy({ byte in
                byte.isDigit || byte == UInt8(ascii: "-")
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            })
        else { return nil }
        description = String(text)
    }
}

/// What a write does to a record.
package enum Operation: String, Sendable, CaseIterable {
    case create
    case update
    case delete
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    var isLetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self)
            || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self)
    }
}
