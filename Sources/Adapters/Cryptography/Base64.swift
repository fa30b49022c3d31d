import Sessions

/// Standard base64, for foreign formats. The contract itself uses base64url.
///
/// Source: RFC 4648 §4.
enum Base64 {
    /// Text in whole groups of four characters, padded with `=`.
    static func encodePadded(_ bytes: [UInt8]) -> String {
        let text = encode(bytes)
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }

    /// Text without padding, as in the PHC string format.
    static func encode(_ bytes: [UInt8]) -> String {
        translate(Base64URL.encode(bytes), ["-": "+", "_": "/"])
    }

    /// The bytes of a text without padding; nil for any text that `encode` cannot produce.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        guard !text.utf8.contains(where: { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") })
        else { return nil }
        return Base64URL.decode(translate(String(text), ["+": "-", "/": "_"]))
    }

    private static func translate(_ text: String, _ map: [Character: Character]) -> String {
        String(text.map { map[$0] ?? $0 })
    }
}
