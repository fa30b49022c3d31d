import Sessions
import Testing

@Suite("Base64url")
struct Base64URLTests {
    /// RFC 4648 §10 without the padding, and the two characters that §5 changes.
    static let vectors: [(bytes: [UInt8], text: String)] = [
        ([], ""), (Array("f".utf8), "Zg"), (Array("fo".utf8), "Zm8"),
        (Array("foo".utf8), "Zm9v"), (Array("foob".utf8), "Zm9vYg"),
        (Array("fooba".utf8), "Zm9vYmE"), (Array("foobar".utf8), "Zm9vYmFy"),
        ([0xFB, 0xFF], "-_8"), ([0xFF, 0xEF, 0xBE], "_---"),
        ([0x14, 0xFB, 0x9C, 0x03, 0xD9, 0x7E], "FPucA9l-"), ([0], "AA"), ([0, 0], "AAA"),
    ]

    @Test("agrees with the published vectors, both ways", arguments: vectors)
    func published(bytes: [UInt8], text: String) {
        #expect(Base64URL.encode(bytes) == text)
        #expect(Base64URL.decode(text) == bytes)
    }

    @Test("has one text for each byte string: all else is refused", arguments: [
        "Zg==", "Zm8=", "Zm9v=", "=", "Z", "Zm9vY", "Zh", "Zm9", "AB", "AAB", "_9",
        "+_8", "-/8", "Zm 9v", "Zm9v\n", "Zm9v\0", "\0\0", "Zm9ü", "ＺＧ", "Zm.v", "Zm9v ", "Zm,v",
    ])
    func strict(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("decodes what it encodes, of every length and value")
    func inverse() {
        for count in 0...67 {
            for start in stride(from: 0, to: 256, by: 5) {
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ start) }
                let text = Base64URL.encode(bytes)
                #expect(text.utf8.count == (count * 4 + 2) / 3)
                #expect(Base64URL.decode(text) == bytes)
            }
        }
    }

    @Test("accepts exactly the texts that it would print itself, of two characters")
    func onlyItsOwn() {
        var accepted = 0
        for high in UInt8(0)...127 {
            for low in UInt8(0)...127 {
                let text = String(decoding: [high, low], as: UTF8.self)
                guard let bytes = Base64URL.decode(text) else { continue }
                accepted += 1
                #expect(Base64URL.encode(bytes) == text)
            }
        }
        #expect(accepted == 256)
    }

    @Test("takes collections that are no arrays, and substrings")
    func collections() {
        #expect(Base64URL.encode([1, 2, 3, 4, 5][1...3]) == "AgME")
        #expect(Base64URL.decode("xxAgMExx".dropFirst(2).dropLast(2)) == [2, 3, 4])
    }
}
