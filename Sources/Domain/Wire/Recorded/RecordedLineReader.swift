/// Reads the members of a recorded line from its raw bytes.
///
/// A JSON decoder cannot do this. A payload that is not UTF-8 is in the line unchanged. With `%J`
/// the payload's own text is needed, duplicate keys included.
struct RecordedLineReader {
    struct Members {
        var topic: String?
        var time: String?
        var isRetained = false
        var payloadLength: Int?
        var payload: Payload?
    }

    struct Payload {
        let bytes: [UInt8]
        let isRewritten: Bool

        /// An absent payload is written as null. The payload `null` with `%J` is also null, but has
        /// 4 bytes.
        func unlessAbsent(_ length: Int?) -> Payload {
            guard length ?? 0 == 0, isRewritten, bytes.elementsEqual("null".utf8) else {
                return self
            }
            return Payload(bytes: [], isRewritten: false)
        }
    }

    private static let topic = Array("topic".utf8)
    private static let tst = Array("tst".utf8)
    private static let retain = Array("retain".utf8)
    private static let payloadLength = Array("payloadlen".utf8)
    private static let payload = Array("payload".utf8)

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private static let notObject = RecordedMessage.Fault(sentence: "not a JSON object")

    mutating func members(isCut: Bool) throws(RecordedMessage.Fault) -> Members {
        var members = Members()
        skipSpace()
        try expect(UInt8(ascii: "{"))
        skipSpace()
        if take(UInt8(ascii: "}")) { return members }
        repeat {
            skipSpace()
            let key = try string(isCut: false)
            skipSpace()
            try expect(UInt8(ascii: ":"))
            skipSpace()
            try value(of: key, isCut: isCut, into: &members)
            skipSpace()
            if isCut, position >= bytes.count { return members }
        } while take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "}"))
        skipSpace()
        guard position == bytes.count else { throw Self.notObject }
        return members
    }

    private mutating func value(
        of key: [UInt8], isCut: Bool, into members: inout Members
    ) throws(RecordedMessage.Fault) {
        switch key {
        case Self.topic: members.topic = try text("topic")
        case Self.tst: members.time = try text("tst")
        case Self.retain: members.isRetained = try number("retain") != 0
        case Self.payloadLength: members.payloadLength = try number("payloadlen")
        case Self.payload: members.payload = try payload(isCut: isCut)
        default: try skipValue(isCut: false)
        }
    }

    private mutating func payload(isCut: Bool) throws(RecordedMessage.Fault) -> Payload {
        if next == UInt8(ascii: "\"") {
            return Payload(bytes: try string(isCut: isCut), isRewritten: false)
        }
        let start = position
        try skipValue(isCut: isCut)
        let raw = bytes[start..<position]
        return Payload(bytes: Array(raw), isRewritten: true)
    }

    private mutating func text(_ name: String) throws(RecordedMessage.Fault) -> String {
        guard next == UInt8(ascii: "\""),
            let text = String(validating: try string(isCut: false), as: UTF8.self)
        else { throw RecordedMessage.Fault(sentence: "\(name) is not a string") }
        return text
    }

    private mutating func number(_ name: String) throws(RecordedMessage.Fault) -> Int {
        let start = position
        try skipValue(isCut: false)
        let digits = String(decoding: bytes[start..<position], as: UTF8.self)
        if digits == "true" || digits == "false" { return digits == "true" ? 1 : 0 }
        guard let number = Int(digits), number >= 0 else {
            throw RecordedMessage.Fault(sentence: "\(name) is not a number")
        }
        return number
    }

    /// Skips a value without decoding it: only strings and brackets are checked.
    private mutating func skipValue(isCut: Bool) throws(RecordedMessage.Fault) {
        let start = position
        var depth = 0
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                _ = try string(isCut: isCut)
                if depth == 0 { return }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { break }
                depth -= 1
                if depth == 0 {
                    position += 1
                    return
                }
            default: break
            }
            let isEnd = byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}")
                || byte == UInt8(ascii: "]") || byte == 0x20
            if depth == 0, isEnd { break }
            position += 1
        }
        guard position > start, depth == 0 || isCut else { throw Self.notObject }
    }

    /// Decodes the string at this position.
    private mutating func string(isCut: Bool) throws(RecordedMessage.Fault) -> [UInt8] {
        try expect(UInt8(ascii: "\""))
        var decoded: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return decoded
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else {
                    if isCut, position + 12 > bytes.count { return endCut(decoded) }
                    throw RecordedMessage.Fault(sentence: "a string has a bad escape")
                }
                decoded.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            default: decoded.append(byte)
            }
        }
        guard isCut else { throw Self.notObject }
        return decoded
    }

    /// The decoded part of a string whose end was cut off within an escape.
    private mutating func endCut(_ decoded: [UInt8]) -> [UInt8] {
        position = bytes.count
        return decoded
    }

    /// Reads the rest of an escape after the backslash. Nil for a bad escape or half a surrogate
    /// pair.
    private mutating func escape() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: return nil
        }
        guard let first = unit() else { return nil }
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")),
            let second = unit(), UTF16.isTrailSurrogate(second)
        else { return nil }
        return Unicode.Scalar(0x10000 + (UInt32(first & 0x3FF) << 10) + UInt32(second & 0x3FF))
    }

    private mutating func unit() -> UInt16? {
        guard position + 4 <= bytes.count,
            let text = String(validating: bytes[position..<position + 4], as: UTF8.self),
            text.utf8.first != UInt8(ascii: "+"), let unit = UInt16(text, radix: 16)
        else { return nil }
        position += 4
        return unit
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(RecordedMessage.Fault) {
        guard take(byte) else { throw Self.notObject }
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0D { position += 1 }
    }
}
