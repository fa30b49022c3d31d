/// The name of a class of records: `_?[A-Za-z][A-Za-z0-9_]{0,127}`, ASCII only.
///
/// Source: the wire contract, Topics of the bus.
package struct ClassName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package static let user = Self(literal: "_User")
    package static let session = Self(literal: "_Session")
    package static let role = Self(literal: "_Role")

    private init(literal: String) { description = literal }

    /// Nil for any character outside the alphabet, look-alikes from other scripts included.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 129 else { return nil }
        let text = String(text)
        let bytes = text.utf8.span
        let start = !bytes.isEmpty && bytes[0] == UInt8(ascii: "_") ? 1 : 0
        guard (start + 1...start + 128).contains(bytes.count), bytes[start].isLetter else {
            return nil
        }
        for index in start..<bytes.count {
            let byte = bytes[index]
            guard byte.isLetter || byte.isDigit || byte == UInt8(ascii: "_") else { return nil }
        }
        description = text
    }

    /// Whether no rule can open the class: `_User`, `_Session`, `_Role`.
    package var isProtected: Bool {
        description == "_User" || description == "_Session" || description == "_Role"
    }

    /// Whether the class belongs to the system: its name begins with `_`.
    package var isReserved: Bool { description.utf8.first == UInt8(ascii: "_") }
}

/// The name of an app on the board: `[a-z0-9][a-z0-9-]{0,31}`.
///
/// Source: the wire contract, Topics of the bus.
package struct AppName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 32 else { return nil }
        let text = String(text)
        let bytes = text.utf8.span
        guard !bytes.isEmpty, bytes[0] != UInt8(ascii: "-") else { return nil }
        for index in 0..<bytes.count {
            let byte = bytes[index]
            let isLower = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
            guard isLower || byte.isDigit || byte == UInt8(ascii: "-") else { return nil }
        }
        description = text
    }
}

/// The effect of a write on a record.
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
