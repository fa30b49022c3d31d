/// One part of a dotted key, and where it stands.
struct KeyPart {
    let name: String
    let place: SourcePlace
}

extension SourcePlaces {
    /// A dotted key.
    mutating func key() -> [KeyPart] {
        var parts: [KeyPart] = []
        repeat {
            skipSpace()
            let (start, place) = (position, place())
            if let byte = next, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                skipString(byte)
                let written = text(start + 1, position - 1)
                let name = byte == UInt8(ascii: "'") ? written : Self.unescaped(written)
                parts.append(KeyPart(name: name, place: place))
            } else {
                while let byte = next, Self.isBare(byte) { position += 1 }
                parts.append(KeyPart(name: text(start, position), place: place))
            }
            skipSpace()
        } while take(UInt8(ascii: "."))
        return parts
    }

    private func text(_ start: Int, _ end: Int) -> String {
        guard start < end, start >= 0, end <= bytes.count else { return "" }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    mutating func skipSpace() {
        while take(UInt8(ascii: " ")) || take(UInt8(ascii: "\t")) {}
    }

    /// Goes behind a string. Source: TOML 1.0.0, String.
    mutating func skipString(_ quote: UInt8) {
        let isLong = bytes[position...].starts(with: [quote, quote, quote])
        let end = [UInt8](repeating: quote, count: isLong ? 3 : 1)
        position += end.count
        while let byte = next {
            if bytes[position...].starts(with: end) {
                position += end.count
                // A long string may end in one or two quotes of its own.
                if isLong, take(quote) { _ = take(quote) }
                return
            }
            if byte == UInt8(ascii: "\n") {
                if !isLong { return }
                takeLineBreak()
                continue
            }
            let isEscape = quote == UInt8(ascii: "\"") && byte == UInt8(ascii: "\\")
            position += 1
            if isEscape, let escaped = next, escaped != UInt8(ascii: "\n") { position += 1 }
        }
    }

    /// The name that a quoted key stands for. Source: TOML 1.0.0, String.
    static func unescaped(_ written: String) -> String {
        guard written.utf8.contains(UInt8(ascii: "\\")) else { return written }
        let simple: [Unicode.Scalar: Unicode.Scalar] = [
            "b": "\u{8}", "t": "\t", "n": "\n", "f": "\u{C}", "r": "\r", "\"": "\"", "\\": "\\",
        ]
        var result = String.UnicodeScalarView()
        var rest = written.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\", let escape = rest.popFirst() else {
                result.append(scalar)
                continue
            }
            if let length = ["u": 4, "U": 8][escape] {
                let digits = String(String.UnicodeScalarView(rest.prefix(length)))
                rest = rest.dropFirst(length)
                if let decoded = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) {
                    result.append(decoded)
                }
            } else {
                result.append(simple[escape] ?? escape)
            }
        }
        return String(result)
    }

    static func isBare(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
