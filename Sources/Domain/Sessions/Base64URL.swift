/// Strict base64url without padding: each byte string has exactly one text.
///
/// Source: RFC 4648 §5, §3.2 (no padding) and §3.5 (canonical encoding).
package enum Base64URL {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8
    )

    /// The text for `bytes`, without padding.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        text(of: Array(bytes))
    }

    /// Not generic, because a generic function that another module calls is not specialized.
    private static func text(of bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(buffer >> bits & 0x3F)])
            }
            buffer &= 0xFF
        }
        if bits > 0 { text.append(alphabet[Int(buffer << (6 - bits) & 0x3F)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes that `text` encodes. Nil for a character outside the alphabet, padding, an
    /// impossible length, or trailing bits that are not zero.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        bytes(behind: Array(String(text).utf8))
    }

    private static func bytes(behind text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for character in text {
            guard let value = value(of: character) else { return nil }
            buffer = buffer << 6 | value
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
                buffer &= (1 << bits) - 1
            }
        }
        guard bits < 6, buffer == 0 else { return nil }
        return bytes
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
