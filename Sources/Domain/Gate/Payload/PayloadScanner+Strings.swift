/// Strings: their syntax, their UTF-8, and their decoded length.
extension PayloadScanner {
    /// Scans the string at this position, quotes included. One pass; does not allocate.
    mutating func string() throws(FieldFault) -> ScannedString {
        position += 1
        let start = position
        var hasEscapes = false
        var length = 0
        while true {
            let run = position
            position = endOfPlainText(from: position)
            length += position - run
            guard position < bytes.count else { throw flaw(.unexpected) }
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return ScannedString(
                    start: start, end: position - 1, hasEscapes: hasEscapes,
                    decodedLength: length)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                length += try escape()
            case 0..<0x20: throw flaw(.badString)
            case let first: length += try multibyte(first)
            }
        }
    }

    /// The position after the plain ASCII characters that need no decoding.
    private func endOfPlainText(from start: Int) -> Int {
        let span = bytes.span
        var index = start
        while index < span.count {
            let byte = span[index]
            guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""),
                byte != UInt8(ascii: "\\")
            else { break }
            index += 1
        }
        return index
    }

    /// Scans one escape and returns the number of UTF-8 bytes of the character.
    private mutating func escape() throws(FieldFault) -> Int {
        let isUnicode = position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "u")
        guard let scalar = JSONEscape.scalar(in: bytes, at: &position) else {
            throw flaw(position >= bytes.count ? .unexpected : isUnicode ? halfOrBad : .badString)
        }
        return UTF8.width(scalar)
    }

    /// Whether the wrong `\u` at this position is half a surrogate pair or not a number.
    private var halfOrBad: JSONFlaw {
        guard position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "d") else {
            return .badString
        }
        return .loneSurrogate
    }

    /// Scans a character of two to four bytes and returns its number of bytes. Source: RFC 3629 §4.
    private mutating func multibyte(_ first: UInt8) throws(FieldFault) -> Int {
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
        position += length
        return length
    }
}
