/// The DER encodings that public keys and signatures need.
///
/// Only writes DER. It encodes a peer's values, and OpenSSL then reads the result.
/// Source: X.690 §8 and §10.
enum DER {
    /// A SEQUENCE of encoded parts.
    static func sequence(_ parts: [UInt8]...) -> [UInt8] {
        value(0x30, Array(parts.joined()))
    }

    /// An INTEGER that is not negative, from its bytes in big-endian order.
    static func integer(_ magnitude: some Collection<UInt8>) -> [UInt8] {
        let digits = magnitude.drop { $0 == 0 }
        let first = digits.first ?? 0
        return value(0x02, (first >= 0x80 || digits.isEmpty ? [0] : []) + Array(digits))
    }

    /// A BIT STRING of whole bytes.
    static func bitString(_ bytes: [UInt8]) -> [UInt8] { value(0x03, [0] + bytes) }

    /// An OBJECT IDENTIFIER from its encoded content.
    static func objectID(_ content: [UInt8]) -> [UInt8] { value(0x06, content) }

    static let null: [UInt8] = [0x05, 0x00]

    private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag] + length(content.count) + content
    }

    private static func length(_ count: Int) -> [UInt8] {
        guard count >= 0x80 else { return [UInt8(truncatingIfNeeded: count)] }
        var digits: [UInt8] = []
        var rest = count
        while rest > 0 {
            digits.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [0x80 | UInt8(truncatingIfNeeded: digits.count)] + digits
    }
}
