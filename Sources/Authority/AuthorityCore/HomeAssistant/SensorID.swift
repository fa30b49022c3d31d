/// The name of a sensor among those of its board: one topic level, 1 to 200 of `[A-Za-z0-9_-]`.
///
/// Source: Home Assistant, MQTT Discovery: `object_id`.
package struct SensorID: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    private static let limit = 200

    package init?(_ text: some StringProtocol) {
        guard (1...Self.limit).contains(text.utf8.count),
            text.utf8.allSatisfy({ Self.isAlphanumeric($0) || "_-".utf8.contains($0) })
        else { return nil }
        description = String(text)
    }

    /// No two lists of names have the same id: bytes other than letters and digits are written as
    /// `_` and two hexadecimal digits, and `-` separates the names. Nil if the id is too long.
    init?(naming names: [String]) {
        self.init(names.map(Self.level).joined(separator: "-"))
    }

    private static func level(_ text: String) -> String {
        text.utf8.map { byte in
            isAlphanumeric(byte)
                ? String(Unicode.Scalar(byte))
                : "_" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: false
        }
    }
}
