extension SourceLines {
    /// Goes to the end of the line on which a value ends; brackets and long strings span lines.
    ///
    /// Refuses what no configuration of ours holds and the parser may assert on: brackets that
    /// do not match, dates and times, and bytes beyond ASCII outside strings and comments.
    mutating func skipValue() {
        var brackets: [UInt8] = []
        // Whether a bare word that follows is a value; inside a table it may be a key.
        var isValue = false
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                skipString(byte)
                continue
            case UInt8(ascii: "#"):
                skipComment()
                continue
            case UInt8(ascii: "\n"):
                if brackets.isEmpty { return }
                takeLineBreak()
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                brackets.append(byte)
                isValue = byte == UInt8(ascii: "[")
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                // In ASCII a closing bracket stands two behind its opening one.
                if brackets.popLast() != byte - 2 { refuse("a bracket that was not opened") }
                isValue = brackets.last == UInt8(ascii: "[")
            case UInt8(ascii: ","): isValue = brackets.last == UInt8(ascii: "[")
            case UInt8(ascii: "="): isValue = true
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
            case 0x21...0x7E:
                skipWord(isValue: isValue)
                continue
            default: refuse("a character that stands only in strings and comments")
            }
            position += 1
        }
    }

    private mutating func skipWord(isValue: Bool) {
        let start = position
        var last: UInt8 = 0
        var isDate = false
        while let byte = next, Self.isBare(byte) || "+.:".utf8.contains(byte) {
            // 1979-05-27 and 07:32, but not 1e-3.
            isDate = isDate || Self.isDigit(last) && "-:".utf8.contains(byte)
            last = byte
            position += 1
        }
        if isValue, isDate { refuse("dates and times are not used here") }
        if isValue, !endsValue || position == start { refuse("no value has this character") }
        if position == start { position += 1 }
    }

    /// Whether a bare value may end here. The parser reads on, over quotes, to what may.
    private var endsValue: Bool { next.map { " \t\r\n,]}#".utf8.contains($0) } ?? true }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
