/// A key of an object that nobody typed, kept while the object is open.
struct OpenKey: Equatable {
    /// FNV-1a over the text: most unequal keys differ here, which is compared first.
    private let hash: UInt64
    private let text: [UInt8]

    init(_ key: ScannedString, in bytes: [UInt8]) {
        text = key.decoded(in: bytes)
        hash = text.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    /// Whether a Parse server could store it: 1 to 128 bytes, no `_` in front, no `$`, no dot,
    /// no control character.
    var isStorable: Bool {
        (1...128).contains(text.count) && text.first != UInt8(ascii: "_")
            && text.allSatisfy {
                $0 >= 0x20 && $0 != UInt8(ascii: "$") && $0 != UInt8(ascii: ".")
            }
    }
}
