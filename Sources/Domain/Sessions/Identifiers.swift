/// A UUID in its canonical lower-case form. Source: RFC 9562 §4.
private func isCanonicalUUID(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count == 36 else { return false }
    return bytes.enumerated().allSatisfy { index, byte in
        switch index {
        case 8, 13, 18, 23: byte == UInt8(ascii: "-")
        default: isLowerHex(byte)
        }
    }
}

private func isLowerHex(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
}

private func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: false
    }
}

/// The version 4 UUID made from 16 random bytes. Source: RFC 9562 §5.4.
private func uuidText(random: [UInt8]) -> String {
    precondition(random.count == 16, "a UUID takes 16 random bytes")
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for (index, byte) in random.enumerated() {
        var byte = byte
        if index == 6 { byte = byte & 0x0F | 0x40 }
        if index == 8 { byte = byte & 0x3F | 0x80 }
        if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 0xF)])
    }
    return String(decoding: text, as: UTF8.self)
}

/// Identifies a board: a UUIDv4 in lower case, made on the board at its first start.
package struct InstallationID: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Parses the canonical lower-case form of a version 4 UUID; nil for anything else.
    package init?(_ text: String) {
        guard isCanonicalUUID(text), Array(text.utf8)[14] == UInt8(ascii: "4"),
            "89ab".utf8.contains(Array(text.utf8)[19])
        else { return nil }
        description = text
    }

    /// The id made from 16 random bytes.
    package init(random: [UInt8]) { description = uuidText(random: random) }
}

/// The `id` of a sealed message: a UUID, unique for its sender.
package struct MessageID: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Parses any UUID and folds it to lower case; nil for anything else.
    package init?(_ text: String) {
        let lower = text.lowercased()
        guard isCanonicalUUID(lower) else { return nil }
        description = lower
    }

    /// The id made from 16 random bytes.
    package init(random: [UInt8]) { description = uuidText(random: random) }
}

/// The `objectId` of a session: 10 characters `[A-Za-z0-9]`.
package struct ObjectID: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8
    )

    package init?(_ text: String) {
        let bytes = text.utf8.span
        guard bytes.count == 10 else { return nil }
        for index in 0..<10 where !isLetterOrDigit(bytes[index]) { return nil }
        description = text
    }

    /// The id made from random bytes. Bytes 248 to 255 are skipped, because they would favour some
    /// characters. Nil if fewer than 10 bytes are left: with 32 bytes about once in 10^30 times.
    package init?(random: [UInt8]) {
        let fair = random.lazy.filter { $0 < 248 }.prefix(10)
        guard fair.count == 10 else { return nil }
        description = String(decoding: fair.map { Self.alphabet[Int($0) % 62] }, as: UTF8.self)
    }

    /// The id that takes the place of a session's id when the caller uses the master key.
    package static let masterKey = Self(literal: "masterKey0")

    private init(literal: String) { description = literal }
}

/// The `objectId` of a record in a class: `[A-Za-z0-9_-]{1,64}`.
package struct RecordID: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init?(_ text: some StringProtocol) {
        guard (1...64).contains(text.utf8.count) else { return nil }
        let text = String(text)
        let bytes = text.utf8.span
        for index in 0..<bytes.count {
            let byte = bytes[index]
            guard isLetterOrDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            else { return nil }
        }
        description = text
    }
}

/// The `objectId` of a user: `[A-Za-z0-9_-]{1,64}`. The contract gives it no form, so this form
/// accepts any id that fits a topic, a column and a log.
package struct UserID: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init?(_ text: some StringProtocol) {
        guard let id = RecordID(text) else { return nil }
        description = id.description
    }

    /// The id made from random bytes, in the same way as `ObjectID`.
    package init?(random: [UInt8]) {
        guard let id = ObjectID(random: random) else { return nil }
        description = id.description
    }

    /// Takes the place of a user's id for a caller with the master key. No generated id has a `-`.
    package static let masterKey = Self(literal: "master-key")

    private init(literal: String) { description = literal }
}

/// The name of a signing or sealing key: b64 of the first 8 bytes of SHA-256 over the raw key.
package struct KeyID: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Parses a key id of any authority: 1 to 128 printable ASCII characters.
    package init?(_ text: String) {
        guard (1...128).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        description = text
    }

    /// The key id for the SHA-256 digest of the raw public key.
    package init(digest: [UInt8]) { description = Base64URL.encode(digest.prefix(8)) }
}
