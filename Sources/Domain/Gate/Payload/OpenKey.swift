/// A key of an object without field rules, kept while the object is open.
struct OpenKey {
    /// FNV-1a over the decoded text. It is compared first, because it differs for most unequal
    /// keys.
    private let hash: UInt64
    private let key: ScannedString

    init(_ key: ScannedString, in bytes: [UInt8]) {
        self.key = key
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        key.forEachByte(in: bytes) { hash = (hash ^ UInt64($0)) &* 0x100_0000_01B3 }
        self.hash = hash
    }

    /// Whether both decode to the same bytes.
    func equals(_ other: OpenKey, in bytes: [UInt8]) -> Bool {
        hash == other.hash
            && key.decoded(in: bytes).elementsEqual(other.key.decoded(in: bytes))
    }
}
