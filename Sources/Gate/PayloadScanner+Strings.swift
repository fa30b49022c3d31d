/// Strings: their syntax, their UTF-8, and what they decode to.
extension PayloadScanner {
    /// Scans the string that begins here, quotes included. One pass; does not allocate.
    mutating func string() throws(FieldFault) -> ScannedString {
        position += 1
        let start = position
        var content = StringContent()
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                let end = position
                position += 1
                return ScannedString(
                    start: start, end: end, hasEscapes: content.hasEscapes,
                    decodedLength: content.length, firstDecoded: content.first,
                    hash: content.hash, isPlainKey: content.isPlainKey)
            case UInt8(ascii: "\\"):
                content.hasEscapes = true
                try escape(into: &content)
            case 0..<0x20: throw flaw(.badString)
            case 0x20..<0x80:
                content.add(byte)
                position += 1
            default: try multibyte(byte, into: &content)
            }
        }
        throw flaw(.unexpected)
    }

    private mutating func escape(into content: inout StringContent) throws(FieldFault) {
        let isUnicode = position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "u")
        guard let scalar = JSONEscape.scalar(in: bytes, at: &position) else {
            throw flaw(position >= bytes.count ? .unexpected : isUnicode ? halfOrBad : .badString)
        }
        // A scalar's bytes, without the array that `UTF8.encode` would not make either.
        if let encoded = UTF8.encode(scalar) {
            for byte in encoded { content.add(byte) }
        }
    }

    /// Whether the `\u` that failed here is half a pair or no number.
    private var halfOrBad: JSONFlaw {
        guard position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "d") else {
            return .badString
        }
        return .loneSurrogate
    }

    /// A character of two to four bytes. Source: RFC 3629 §4.
    private mutating func multibyte(
        _ first: UInt8, into content: inout StringContent
    ) throws(FieldFault) {
        let (length, second): (Int, ClosedRange<UInt8>)
        switch first {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw flaw(.badUTF8)
        }
        guard length <= bytes.count - position, second.contains(bytes[position + 1]) else {
            throw flaw(.badUTF8)
        }
        for offset in 2..<4 where offset < length {
            guard bytes[position + offset] & 0xC0 == 0x80 else { throw flaw(.badUTF8) }
        }
        for offset in 0..<length { content.add(bytes[position + offset]) }
        position += length
    }
}

/// What is gathered of a string while it is scanned.
private struct StringContent {
    var hasEscapes = false
    private(set) var length = 0
    private(set) var first: UInt8?
    private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    private var hasOddByte = false

    @inline(__always)
    mutating func add(_ byte: UInt8) {
        if length == 0 { first = byte }
        length += 1
        hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        if byte == UInt8(ascii: "$") || byte == UInt8(ascii: ".") || byte < 0x20 {
            hasOddByte = true
        }
    }

    var isPlainKey: Bool {
        (1...128).contains(length) && !hasOddByte && first != UInt8(ascii: "_")
    }
}
