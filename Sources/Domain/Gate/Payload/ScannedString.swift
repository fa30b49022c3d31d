/// A scanned JSON string: its place in the bytes, and the length of its decoded text.
struct ScannedString {
    /// The bounds of the raw text between the quotes.
    let start: Int
    let end: Int
    let hasEscapes: Bool
    /// In bytes of UTF-8.
    let decodedLength: Int

    /// Whether the decoded string equals `text`, byte for byte.
    func equals(_ text: String, in bytes: [UInt8]) -> Bool {
        guard decodedLength == text.utf8.count else { return false }
        let other = text.utf8.span
        if !hasEscapes {
            let own = bytes.span.extracting(start..<end)
            for index in other.indices where own[index] != other[index] { return false }
            return true
        }
        return decoded(in: bytes).elementsEqual(text.utf8)
    }

    /// Whether a Parse server could store the string as a key: 1 to 128 bytes, no `_` at the start,
    /// no `$`, no dot, no control character.
    func isStorable(in bytes: [UInt8]) -> Bool {
        guard (1...128).contains(decodedLength), !begins(with: UInt8(ascii: "_"), in: bytes) else {
            return false
        }
        var isStorable = true
        forEachByte(in: bytes) {
            if $0 < 0x20 || $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: ".") {
                isStorable = false
            }
        }
        return isStorable
    }

    /// Calls `body` with each decoded byte. Most strings have no escape, so no decoding is needed.
    @inline(__always)
    func forEachByte(in bytes: [UInt8], _ body: (UInt8) -> Void) {
        guard hasEscapes else {
            let span = bytes.span
            for index in start..<end { body(span[index]) }
            return
        }
        for byte in decoded(in: bytes) { body(byte) }
    }

    /// Whether the decoded text begins with `byte`, an ASCII character.
    func begins(with byte: UInt8, in bytes: [UInt8]) -> Bool {
        guard hasEscapes else { return start < end && bytes[start] == byte }
        var decoded = decoded(in: bytes)
        return decoded.next() == byte
    }

    /// The decoded text, cut to at most 128 bytes, for people.
    func text(in bytes: [UInt8]) -> String {
        let all = Array(decoded(in: bytes))
        guard all.count > 128 else { return String(decoding: all, as: UTF8.self) }
        // Cut before a whole character: a continuation byte is 10xxxxxx.
        var cut = 128
        while cut > 0, all[cut] & 0xC0 == 0x80 { cut -= 1 }
        return String(decoding: all[..<cut], as: UTF8.self)
    }

    func decoded(in bytes: [UInt8]) -> DecodedBytes { DecodedBytes(of: self, in: bytes) }
}

/// The decoded bytes of a scanned string. Does not allocate.
struct DecodedBytes: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private var index: Int
    private let end: Int
    /// The remaining bytes of the last escape's character.
    private var character = UTF8.EncodedScalar().makeIterator()

    fileprivate init(of string: ScannedString, in bytes: [UInt8]) {
        self.bytes = bytes
        index = string.start
        end = string.end
    }

    /// The scanner has checked all escapes, so a bad escape cannot occur here.
    mutating func next() -> UInt8? {
        if let byte = character.next() { return byte }
        while index < end {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\\") else {
                index += 1
                return byte
            }
            let encoded = JSONEscape.scalar(in: bytes, at: &index).flatMap(UTF8.encode)
            character = (encoded ?? UTF8.encodedReplacementCharacter).makeIterator()
            if let byte = character.next() { return byte }
        }
        return nil
    }
}

/// The escapes of JSON strings. Source: RFC 8259 §7.
enum JSONEscape {
    /// Reads the escape at `index` and moves `index` behind it. A surrogate pair is one escape.
    ///
    /// Nil for a bad escape or half a pair; `index` is then at the mistake.
    static func scalar(in bytes: [UInt8], at index: inout Int) -> Unicode.Scalar? {
        index += 1
        guard index < bytes.count else { return nil }
        guard bytes[index] == UInt8(ascii: "u") else {
            guard let plain = plain(bytes[index]) else { return nil }
            index += 1
            return plain
        }
        index += 1
        guard let first = unit(in: bytes, at: index) else { return nil }
        if let scalar = Unicode.Scalar(first) {
            index += 4
            return scalar
        }
        guard UTF16.isLeadSurrogate(first), index + 6 <= bytes.count,
            bytes[index + 4] == UInt8(ascii: "\\"), bytes[index + 5] == UInt8(ascii: "u"),
            let second = unit(in: bytes, at: index + 6), UTF16.isTrailSurrogate(second)
        else { return nil }
        index += 10
        return Unicode.Scalar(
            0x10000 + (UInt32(first & 0x3FF) << 10) + UInt32(second & 0x3FF))
    }

    private static func plain(_ byte: UInt8) -> Unicode.Scalar? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): Unicode.Scalar(byte)
        case UInt8(ascii: "b"): "\u{08}"
        case UInt8(ascii: "f"): "\u{0C}"
        case UInt8(ascii: "n"): "\n"
        case UInt8(ascii: "r"): "\r"
        case UInt8(ascii: "t"): "\t"
        default: nil
        }
    }

    private static func unit(in bytes: [UInt8], at index: Int) -> UInt16? {
        guard index + 4 <= bytes.count else { return nil }
        var unit: UInt16 = 0
        for offset in 0..<4 {
            let byte = bytes[index + offset]
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: return nil
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
