extension TOMLReader {
    /// Reads the value that begins here.
    mutating func value(depth: Int) throws(SettingsError) -> TOMLValue {
        guard depth < Self.deepest else { throw tooDeep() }
        switch next {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try string())
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "{"): return .table(try inlineTable(depth: depth))
        default: return try plain()
        }
    }

    mutating func tooDeep() -> SettingsError { fault("nested deeper than \(Self.deepest) levels") }

    /// Reads an array. Elements may be on several lines, and a comma may follow the last one.
    private mutating func array(depth: Int) throws(SettingsError) -> [TOMLNode] {
        let start = place()
        let unended = "the array that begins here does not end: close it with ]"
        advance()
        var elements: [TOMLNode] = []
        while true {
            guard try skipToStatement() else { throw fault(unended, at: start) }
            if take("]") { return elements }
            elements.append(TOMLNode(place: place(), value: try value(depth: depth + 1)))
            guard try skipToStatement() else { throw fault(unended, at: start) }
            guard take(",") || next == UInt8(ascii: "]") else {
                throw fault("two elements of an array need a comma between them")
            }
        }
    }

    /// Reads an inline table. It is on one line, and no comma follows the last entry.
    private mutating func inlineTable(depth: Int) throws(SettingsError) -> TOMLTable {
        let table = TOMLTable(.inline, at: place())
        advance()
        skipSpace()
        if take("}") { return table }
        repeat {
            try keyAndValue(into: table, depth: depth + 1)
            skipSpace()
        } while take(",")
        guard take("}") else {
            throw fault("a table in braces must be on one line, with a comma between two keys")
        }
        return table
    }

    /// Reads a number or a boolean.
    private mutating func plain() throws(SettingsError) -> TOMLValue {
        let start = place()
        let word = takeWord()
        switch word {
        case "": throw fault("a value is a string in quotes, a number, true, false, [ or {")
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        default: return try number(word, at: start)
        }
    }

    private mutating func takeWord() -> String {
        let start = position
        while let byte = next, Self.isBare(byte) || "+.:".utf8.contains(byte) { advance() }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Source: TOML 1.0.0, Integer and Float.
    private func number(
        _ word: String, at start: SourcePlace
    ) throws(SettingsError) -> TOMLValue {
        let unsigned = word.hasPrefix("+") || word.hasPrefix("-") ? word.dropFirst() : word[...]
        let digits = unsigned.filter { $0 != "_" }
        let sign = word.hasPrefix("-") ? "-" : ""
        if Self.isInteger(unsigned) {
            guard let number = Int(sign + digits) else {
                throw fault("the number is too large", at: start)
            }
            return .integer(number)
        }
        if Self.isDecimal(unsigned), let number = Double(sign + digits), number.isFinite {
            return .decimal(number)
        }
        // Recognizes 1979-05-27 and 07:32.
        let isDate = word.contains(":")
            || Self.isDigits(word.prefix(4)) && word.dropFirst(4).hasPrefix("-")
        throw fault(
            isDate ? "dates and times are not allowed here"
                : "\"\(word.prefix(40))\" is not a value; write a string in quotes", at: start)
    }

    /// Whether the text is digits with single underscores between them and no leading zero.
    private static func isInteger(_ text: Substring) -> Bool {
        isDigits(text) && (text == "0" || text.first != "0")
    }

    /// Whether the text is a whole number with a fraction, an exponent or both.
    private static func isDecimal(_ text: Substring) -> Bool {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) {
            $0 == "e" || $0 == "E"
        }
        guard let mantissa = parts.first else { return false }
        let numbers = mantissa.split(
            separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        var exponent = parts.dropFirst().first ?? "0"
        if let sign = exponent.first, sign == "+" || sign == "-" { exponent.removeFirst() }
        return isInteger(numbers[0]) && numbers.dropFirst().allSatisfy(isDigits)
            && isDigits(exponent)
    }

    private static func isDigits(_ text: Substring) -> Bool {
        text.split(separator: "_", omittingEmptySubsequences: false).allSatisfy { group in
            !group.isEmpty && group.utf8.allSatisfy { (0x30...0x39).contains($0) }
        }
    }
}
