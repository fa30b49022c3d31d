/// Puts numbers and short texts behind one another, big-endian.
extension [UInt8] {
    mutating func append(number: Int64) {
        append(contentsOf: stride(from: 56, through: 0, by: -8).map { shift in
            UInt8(truncatingIfNeeded: number >> Int64(shift))
        })
    }

    mutating func append(half: UInt16) {
        append(UInt8(half >> 8))
        append(UInt8(half & 0xFF))
    }

    mutating func append(digest: UInt128) {
        append(number: Int64(truncatingIfNeeded: digest >> 64))
        append(number: Int64(truncatingIfNeeded: digest))
    }

    /// A length of one byte, then the text. False, and nothing is added, if it has over 255.
    mutating func append(short text: String) -> Bool {
        guard let count = UInt8(exactly: text.utf8.count) else { return false }
        append(count)
        append(contentsOf: text.utf8)
        return true
    }

    /// Overwrites with zeros and empties. Not optimised, so that the writes are kept.
    @_optimize(none)
    mutating func wipe() {
        for index in indices { self[index] = 0 }
        removeAll()
    }
}

/// Takes apart what `[UInt8].append` put together. Any bytes give a value or nil, never a trap.
struct ByteReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() -> UInt8? { take(1)?.first }

    mutating func half() -> UInt16? {
        take(2)?.reduce(0) { $0 << 8 | UInt16($1) }
    }

    mutating func number() -> Int64? {
        take(8)?.reduce(0) { $0 << 8 | Int64($1) }
    }

    mutating func digest() -> UInt128? {
        take(16)?.reduce(0) { $0 << 8 | UInt128($1) }
    }

    mutating func shortText() -> String? {
        guard let count = byte() else { return nil }
        return text(Int(count))
    }

    /// `count` bytes that must be UTF-8.
    mutating func text(_ count: Int) -> String? {
        take(count).flatMap { String(validating: $0, as: UTF8.self) }
    }

    mutating func rest() -> [UInt8] {
        defer { position = bytes.count }
        return Array(bytes[position...])
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= bytes.count - position else { return nil }
        defer { position += count }
        return bytes[position..<position + count]
    }
}
