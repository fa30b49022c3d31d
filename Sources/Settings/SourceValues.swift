/// A bracket that is open, and what stands in it.
private struct Bracket {
    let byte: UInt8
    /// Nil where nothing is noted.
    let path: [String]?
    var count = 0

    var isArray: Bool { byte == UInt8(ascii: "[") }

    /// The path of the array's element that comes next. The later ones of a long array go by
    /// the array's place.
    var element: [String]? {
        guard isArray, count < 256, let path, path.count < 100 else { return nil }
        return path + ["#\(count)"]
    }
}

/// Where in a value a scan is.
private struct Nesting {
    private var brackets: [Bracket] = []
    /// The path of the value that begins next.
    var awaited: [String]?
    /// Whether a bare word that follows is a value; inside a table it may be a key.
    var isValue = false

    init(awaited: [String]?) { self.awaited = awaited }

    var isOpen: Bool { !brackets.isEmpty }

    /// The innermost bracket, if what follows in it is a key.
    var keyed: Bracket? { isValue ? nil : brackets.last }

    mutating func open(_ byte: UInt8) {
        brackets.append(Bracket(byte: byte, path: awaited))
        awaited = brackets.last?.element
        isValue = brackets.last?.isArray == true
    }

    /// False for a bracket that does not match the one that is open.
    mutating func close(_ byte: UInt8) -> Bool {
        // In ASCII a closing bracket stands two behind its opening one.
        let isMatch = brackets.popLast()?.byte == byte - 2
        awaited = nil
        isValue = brackets.last?.isArray == true
        return isMatch
    }

    mutating func separate() {
        if let last = brackets.indices.last { brackets[last].count += 1 }
        awaited = brackets.last?.element
        isValue = brackets.last?.isArray == true
    }
}

extension SourcePlaces {
    /// Goes to the end of the line on which the value of `path` ends, and notes it with what is
    /// in it; brackets and long strings span lines.
    ///
    /// Refuses what no configuration of ours holds and the parser may assert on: brackets that
    /// do not match, dates and times, and bytes beyond ASCII outside strings and comments.
    mutating func skipValue(of path: [String]?) {
        var nesting = Nesting(awaited: path)
        while let byte = next {
            switch byte {
            case UInt8(ascii: "#"):
                skipComment()
                continue
            case UInt8(ascii: "\n"):
                if !nesting.isOpen { return }
                takeLineBreak()
                continue
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                noteValue(of: nesting.awaited)
                nesting.open(byte)
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                if !nesting.close(byte) { refuse("a bracket that was not opened") }
            case UInt8(ascii: ","): nesting.separate()
            case UInt8(ascii: "="): nesting.isValue = true
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
            case 0x21...0x7E:
                if let table = nesting.keyed, Self.beginsKey(byte) {
                    nesting.awaited = note(key(), under: table.path)
                } else {
                    if nesting.isValue { noteValue(of: nesting.awaited) }
                    skipPlain(byte, isValue: nesting.isValue)
                }
                continue
            default: refuse("a character that stands only in strings and comments")
            }
            position += 1
        }
    }

    private static func beginsKey(_ byte: UInt8) -> Bool { isBare(byte) || isQuote(byte) }

    private static func isQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'")
    }

    /// Goes behind a string or a bare word.
    private mutating func skipPlain(_ byte: UInt8, isValue: Bool) {
        if Self.isQuote(byte) { skipString(byte) } else { skipWord(isValue: isValue) }
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
