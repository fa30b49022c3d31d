/// The short text by which people compare a board's device key on two screens: the first 60 bits
/// of the key's SHA-256, in Crockford's base 32, as `ABCD-EFGH-JKMN`.
///
/// 60 bits, because an attacker may search for another key with the same text.
/// Source: the wire contract, Prepared claims.
package struct BoardFingerprint: Hashable, Sendable, CustomStringConvertible {
    private static let letters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    package let description: String

    /// `digest` is the SHA-256 of the raw device key. Nil unless it has 32 bytes.
    package init?(digest: [UInt8]) {
        guard digest.count == 32 else { return nil }
        let bits = digest.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        let text = (0..<12).map { index in
            Self.letters[Int(bits >> UInt64(59 - 5 * index) & 31)]
        }
        description = stride(from: 0, to: 12, by: 4).map { start in
            String(decoding: text[start..<start + 4], as: UTF8.self)
        }.joined(separator: "-")
    }

    /// Parses what a person typed: any case, with or without hyphens. Nil for anything else.
    package init?(_ typed: String) {
        guard typed.utf8.count <= 14 else { return nil }
        let text = typed.uppercased().utf8.filter { $0 != UInt8(ascii: "-") }
        guard text.count == 12, text.allSatisfy(Self.letters.contains) else { return nil }
        description = stride(from: 0, to: 12, by: 4).map { start in
            String(decoding: text[start..<start + 4], as: UTF8.self)
        }.joined(separator: "-")
    }
}
