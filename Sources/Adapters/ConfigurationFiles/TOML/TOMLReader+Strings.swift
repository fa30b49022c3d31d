extension TOMLReader {
    /// Reads a key, with or without dots. It has from 1 to `deepest` parts.
    mutating func key() throws(SettingsError) -> [KeyPart] {
        var parts: [KeyPart] = []
        repeat {
            guard parts.count < Self.deepest else { throw tooDeep() }
            skipSpace()
            let place = place()
            parts.append(KeyPart(name: try keyName(), place: place))
            skipSpace()
        } while take(".")
        return parts
    }

    private mutating func keyName() throws(SettingsError) -> String {
        if next(is: "\"\"\"") || next(is: "'''") { throw fault("a key must be on one line") }
        if next == UInt8(ascii: "\"") || next == UInt8(ascii: "'") { return try string() }
        let start = position
        while let byte = next, Self.isBare(byte) { advance() }
        guard start < position else {
            throw fault("a key has letters, digits, - and _, or is in quotes")
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    static func isBare(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// Reads a string in any of the four forms. Source: TOML 1.0.0, String.
    mutating func string() throws(SettingsError) -> String {
        if take("\"\"\"") { return try text(until: "\"\"\"", escapes: true, lines: true) }
        if take("'''") { return try text(until: "'''", escapes: false, lines: true) }
        if take("\"") { return try text(until: "\"", escapes: true, lines: false) }
        advance()
        return try text(until: "'", escapes: false, lines: false)
    }

    private mutating func text(
        until end: StaticString, escapes: Bool, lines: Bool
    ) throws(SettingsError) -> String {
        var text: [UInt8] = []
        if lines { _ = takeLineEnd() }
        while let byte = next {
            if next(is: end) {
                // Up to two quotes may come directly before the three that end the string.
                while lines, next(is: end), followsQuote(end) {
                    text.append(byte)
                    advance()
                }
                advance(by: end.utf8CodeUnitCount)
                return String(decoding: text, as: UTF8.self)
            }
            if lines, takeLineEnd() {
                text.append(UInt8(ascii: "\n"))
            } else if escapes, byte == UInt8(ascii: "\\") {
                if lines, skipLineBreak() { continue }
                text += Array(try escape().utf8)
            } else if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
                break
            } else {
                try refuseControl(byte)
                text.append(byte)
                advance()
            }
        }
        throw fault("the string does not end: close it with \(end)")
    }

    /// Whether one more quote follows the three that are next.
    private func followsQuote(_ end: StaticString) -> Bool {
        let behind = position + end.utf8CodeUnitCount
        return behind < bytes.count && bytes[behind] == bytes[position]
    }

    /// Skips a backslash at a line's end, and all blanks and line ends after it. False if there is
    /// none.
    private mutating func skipLineBreak() -> Bool {
        var ahead = position + 1
        while ahead < bytes.count, " \t\r".utf8.contains(bytes[ahead]) { ahead += 1 }
        guard ahead < bytes.count, bytes[ahead] == UInt8(ascii: "\n") else { return false }
        advance()
        repeat { skipSpace() } while takeLineEnd()
        return true
    }

    private static let simple: [UInt8: Unicode.Scalar] = [
        UInt8(ascii: "b"): "\u{8}", UInt8(ascii: "t"): "\t", UInt8(ascii: "n"): "\n",
        UInt8(ascii: "f"): "\u{C}", UInt8(ascii: "r"): "\r", UInt8(ascii: "\""): "\"",
        UInt8(ascii: "\\"): "\\",
    ]

    /// Reads an escape and returns its character.
    private mutating func escape() throws(SettingsError) -> String {
        let start = place()
        advance()
        let letter = next
        advance()
        if let letter, let scalar = Self.simple[letter] { return String(scalar) }
        let length = letter == UInt8(ascii: "u") ? 4 : letter == UInt8(ascii: "U") ? 8 : 0
        let digits = bytes[position...].prefix(length)
        guard length > 0, digits.count == length, digits.allSatisfy(Self.isHex),
            let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
            let scalar = Unicode.Scalar(code)
        else {
            throw fault(
                "an escape is \\b, \\t, \\n, \\f, \\r, \\\", \\\\, or \\u and four hex digits, or "
                    + "\\U and eight", at: start)
        }
        if code == 0 { throw fault("a configuration must not contain NUL", at: start) }
        advance(by: length)
        return String(scalar)
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
