/// Public keys that lie in a curve's small subgroup. With such a key the other side learns
/// nothing secret and proves nothing, so they are refused wherever a key comes in.
enum SmallOrder {
    /// Whether the u-coordinate is one of the points whose order divides 8, or of the twist's
    /// whose order divides 4, in any encoding. The top bit is not part of it.
    ///
    /// Source: RFC 7748 §5 and §6.1; RFC 9180 §7.1.4.
    static func holdsX25519(_ key: [UInt8]) -> Bool { matches(key, Self.x25519) }

    /// Whether the point's order divides 8, in any encoding. The top bit is the sign of x.
    ///
    /// Source: RFC 8032 §5.1.7; NIST FIPS 186-5 §7.8.
    static func holdsEd25519(_ key: [UInt8]) -> Bool { matches(key, Self.ed25519) }

    private static func matches(_ key: [UInt8], _ list: [[UInt8]]) -> Bool {
        guard key.count == KeyKind.count, let last = key.last else { return false }
        let masked = key.dropLast() + [last & 0x7F]
        return list.contains { $0.elementsEqual(masked) }
    }

    /// A number below 2^255, little-endian, from its lowest byte, the middle and its highest.
    private static func number(_ low: UInt8, _ middle: UInt8, _ high: UInt8) -> [UInt8] {
        [low] + [UInt8](repeating: middle, count: 30) + [high]
    }

    /// 0, 1, p-1, p and p+1 with p = 2^255 - 19: of small order on both curves.
    private static let common = [
        number(0, 0, 0), number(1, 0, 0),
        number(0xEC, 0xFF, 0x7F), number(0xED, 0xFF, 0x7F), number(0xEE, 0xFF, 0x7F),
    ]

    private static let x25519: [[UInt8]] =
        common + [
            [
                0xE0, 0xEB, 0x7A, 0x7C, 0x3B, 0x41, 0xB8, 0xAE, 0x16, 0x56, 0xE3, 0xFA, 0xF1, 0x9F,
                0xC4, 0x6A, 0xDA, 0x09, 0x8D, 0xEB, 0x9C, 0x32, 0xB1, 0xFD, 0x86, 0x62, 0x05, 0x16,
                0x5F, 0x49, 0xB8, 0x00,
            ],
            [
                0x5F, 0x9C, 0x95, 0xBC, 0xA3, 0x50, 0x8C, 0x24, 0xB1, 0xD0, 0xB1, 0x55, 0x9C, 0x83,
                0xEF, 0x5B, 0x04, 0x44, 0x5C, 0xC4, 0x58, 0x1C, 0x8E, 0x86, 0xD8, 0x22, 0x4E, 0xDD,
                0xD0, 0x9F, 0x11, 0x57,
            ],
        ]

    private static let ed25519: [[UInt8]] =
        common + [
            [
                0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF,
                0x98, 0xF0, 0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88,
                0x6D, 0x53, 0xFC, 0x05,
            ],
            [
                0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10,
                0x67, 0x0F, 0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77,
                0x92, 0xAC, 0x03, 0x7A,
            ],
        ]
}
