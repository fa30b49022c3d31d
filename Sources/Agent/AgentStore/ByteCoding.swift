/// Appends numbers and short texts, big-endian.
extension [UInt8] {
    mutating func append(number: Int64) {
        var shift: Int64 = 56
        while shift >= 0 {
            append(UInt8(truncatingIfNeeded: number >> shift))
            shift -= 8
        }
    }

    mutating func append(half: UInt16) {
        append(UInt8(half >> 8))
        append(UInt8(half & 0xFF))
    }

    /// Seven bits a byte, lowest first. The top bit is set on all bytes but the last.
    mutating func append(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func append(digest: UInt128) {
        append(number: Int64(truncatingIfNeeded: digest >> 64))
        append(number: Int64(truncatingIfNeeded: digest))
    }

    /// Appends a length of one byte, then the text. Returns false and adds nothing if the text
    /// has over 255 bytes.
    mutating func append(short text: String) -> Bool {
        guard let count = UInt8(exactly: text.utf8.count) else { return false }
        append(count)
        append(contentsOf: text.utf8)
        return true
    }

    /// Overwrites the bytes with zeros and empties the array. Not optimised, so that the compiler
    /// keeps the writes.
    @_optimize(none)
    mutating func wipe() {
        for index in indices { self[index] = 0 }
        removeAll()
    }
}

/// Reads the output of `[UInt8].append`. Any bytes return a value or nil, never a trap.
struct ByteReader {
    let bytes: [UInt8]
    private(set) var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func half() -> UInt16? {
        skip(2)?.reduce(0) { $0 << 8 | UInt16(bytes[$1]) }
    }

    mutating func number() -> Int64? {
        skip(8)?.reduce(0) { $0 << 8 | Int64(bytes[$1]) }
    }

    mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 64, let byte = byte() {
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }

    mutating func digest() -> UInt128? {
        skip(16)?.reduce(0) { $0 << 8 | UInt128(bytes[$1]) }
    }

    mutating func shortText() -> String? {
        guard let count = byte() else { return nil }
        return text(Int(count))
    }

    /// Reads `count` bytes, which must be UTF-8.
    mutating func text(_ count: Int) -> String? {
        skip(count).flatMap { String(validating: bytes[$0], as: UTF8.self) }
    }

    mutating func rest() -> [UInt8] {
        defer { position = bytes.count }
        return Array(bytes[position...])
    }

    /// Moves to an earlier position.
    mutating func move(to place: Int) { position = min(max(0, place), bytes.count) }

    /// Returns the range of the next `count` bytes and skips them.
    mutating func skip(_ count: Int) -> Range<Int>? {
        guard count >= 0, count <= bytes.count - position else { return nil }
        defer { position += count }
        return position..<position + count
    }
}
