import Sessions

/// A strict reader of JSON bytes: it validates all, decodes keys and short values, and
/// refuses what hides in a payload. Source: RFC 8259; RFC 8785's strictness on duplicates.
struct PayloadScanner {
    enum Value: Equatable {
        case null
        case boolean
        case number(Double)
        case string(String)
        case array
        case object
    }

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads an object; `member` must consume the value behind each key.
    mutating func object(
        depth: Int, _ member: (String, inout PayloadScanner) throws(PayloadFault) -> Void
    ) throws(PayloadFault) {
        try expect(UInt8(ascii: "{"))
        var keys: Set<String> = []
        skipSpace()
        if take(UInt8(ascii: "}")) { return }
        repeat {
            skipSpace()
            let key = try string()
            guard keys.insert(key).inserted else {
                throw PayloadFault(code: .badKeyName, text: "the field stands twice", field: key)
            }
            try refuseCommand(key)
            skipSpace()
            try expect(UInt8(ascii: ":"))
            try member(key, &self)
            skipSpace()
        } while take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "}"))
    }

    /// Reads any value. `key` is the member it belongs to.
    mutating func value(depth: Int, key: String) throws(PayloadFault) -> Value {
        guard depth < PayloadCheck.depthLimit else {
            throw PayloadFault(
                code: .validation, text: "deeper than \(PayloadCheck.depthLimit) levels",
                field: key)
        }
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"):
            try object(depth: depth + 1) { (inner, scanner) throws(PayloadFault) in
                _ = try scanner.value(depth: depth + 1, key: inner)
            }
            return .object
        case UInt8(ascii: "["):
            try array(depth: depth, key: key)
            return .array
        case UInt8(ascii: "\""):
            let text = try string()
            try refuseReference(key, text)
            return .string(text)
        case UInt8(ascii: "t"): try literal("true"); return .boolean
        case UInt8(ascii: "f"): try literal("false"); return .boolean
        case UInt8(ascii: "n"): try literal("null"); return .null
        default: return .number(try number())
        }
    }

    /// Nothing but white space may follow.
    mutating func end() throws(PayloadFault) {
        skipSpace()
        guard position == bytes.count else { throw malformed }
    }

    private mutating func array(depth: Int, key: String) throws(PayloadFault) {
        try expect(UInt8(ascii: "["))
        skipSpace()
        if take(UInt8(ascii: "]")) { return }
        repeat {
            _ = try value(depth: depth + 1, key: key)
            skipSpace()
        } while take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "]"))
    }

    private mutating func number() throws(PayloadFault) -> Double {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let number = Double(text) else { throw malformed }
        guard number.isFinite else {
            throw PayloadFault(code: .validation, text: "a number overflows", field: nil)
        }
        return number
    }

    private mutating func digits() throws(PayloadFault) {
        let start = position
        while let byte = peek, byte.isDigit { position += 1 }
        if position == start { throw malformed }
    }
}

extension PayloadScanner {
    /// Reads a string and decodes its escapes. Source: RFC 8259 §7.
    private mutating func string() throws(PayloadFault) -> String {
        try expect(UInt8(ascii: "\""))
        var decoded: [UInt8] = []
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: decoded, as: UTF8.self) else {
                    throw PayloadFault(code: .invalidJSON, text: "not UTF-8", field: nil)
                }
                return text
            case UInt8(ascii: "\\"): try escape(into: &decoded)
            case 0..<0x20: throw malformed
            default: decoded.append(byte)
            }
        }
        throw malformed
    }

    private mutating func escape(into decoded: inout [UInt8]) throws(PayloadFault) {
        guard let byte = peek else { throw malformed }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(byte)
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"): try unicode(into: &decoded)
        default: throw malformed
        }
    }

    private mutating func unicode(into decoded: inout [UInt8]) throws(PayloadFault) {
        var code = try hex()
        if (0xD800...0xDBFF).contains(code) {
            try expect(UInt8(ascii: "\\"))
            try expect(UInt8(ascii: "u"))
            let low = try hex()
            guard (0xDC00...0xDFFF).contains(low) else { throw malformed }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw malformed }
        decoded.append(contentsOf: Array(String(Character(scalar)).utf8))
    }

    private mutating func hex() throws(PayloadFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw malformed
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    /// Keys that a Parse server obeys instead of storing.
    private func refuseCommand(_ key: String) throws(PayloadFault) {
        guard key == "ACL" || (key.hasPrefix("_") && key != "__type") else { return }
        throw PayloadFault(code: .badKeyName, text: "the field is the system's", field: key)
    }

    /// Values that point to other records.
    private func refuseReference(_ key: String, _ text: String) throws(PayloadFault) {
        let plain: Set<String> = ["Date", "Bytes", "GeoPoint", "Polygon"]
        guard key == "__type" && !plain.contains(text) || key == "className" && text.hasPrefix("_")
        else { return }
        throw PayloadFault(code: .forbidden, text: "no reference may be written", field: key)
    }

    private mutating func literal(_ text: StaticString) throws(PayloadFault) {
        for byte in text.description.utf8 { try expect(byte) }
    }

    private mutating func expect(_ byte: UInt8) throws(PayloadFault) {
        guard take(byte) else { throw malformed }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private var malformed: PayloadFault {
        PayloadFault(code: .invalidJSON, text: "the payload is not JSON", field: nil)
    }
}
