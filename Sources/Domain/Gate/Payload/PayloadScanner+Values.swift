package import Sessions

/// Builds the values of a document. One scanner both reads a peer's messages and checks an app's
/// payloads.
extension PayloadScanner {
    /// The value of one document: at most 32 levels, no repeated member.
    ///
    /// The time grows only with the number of bytes.
    ///
    /// - Parameter limit: the most values in the document, itself included.
    static func values(of bytes: [UInt8], limit: Int) throws(FieldFault) -> JSONValue {
        var scanner = PayloadScanner(bytes, requiresAll: false)
        var left = limit
        scanner.skipSpace()
        let value = try scanner.read(depth: 0, &left)
        try scanner.end()
        return value
    }

    private mutating func read(depth: Int, _ left: inout Int) throws(FieldFault) -> JSONValue {
        left -= 1
        guard left >= 0 else { throw FieldFault(.tooManyValues) }
        switch next {
        case UInt8(ascii: "{"): return .object(try readObject(depth: depth + 1, &left))
        case UInt8(ascii: "["): return .array(try readArray(depth: depth + 1, &left))
        case UInt8(ascii: "\""): return .string(try string().whole(in: bytes))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try readNumber()
        case UInt8(ascii: "t"):
            try expect("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        default: throw flaw(.unexpected)
        }
    }

    private mutating func readObject(
        depth: Int, _ left: inout Int
    ) throws(FieldFault) -> [String: JSONValue] {
        try open(depth)
        var members: [String: JSONValue] = [:]
        var hasMore = try hasFirst(end: UInt8(ascii: "}"))
        while hasMore {
            let key = try key().whole(in: bytes)
            try expect(UInt8(ascii: ":"))
            skipSpace()
            let value = try read(depth: depth, &left)
            // Two spellings that Swift compares as equal also count as the same member.
            guard members.updateValue(value, forKey: key) == nil else {
                throw FieldFault(.duplicateKey)
            }
            hasMore = try hasNext(end: UInt8(ascii: "}"))
        }
        return members
    }

    private mutating func readArray(
        depth: Int, _ left: inout Int
    ) throws(FieldFault) -> [JSONValue] {
        try open(depth)
        var values: [JSONValue] = []
        var hasMore = try hasFirst(end: UInt8(ascii: "]"))
        while hasMore {
            values.append(try read(depth: depth, &left))
            hasMore = try hasNext(end: UInt8(ascii: "]"))
        }
        return values
    }

    /// A number without fraction and exponent becomes an integer if it fits 64 bits. Other
    /// spellings of a whole number, such as `5.0` or `5e0`, become an integer up to 2^53.
    private mutating func readNumber() throws(FieldFault) -> JSONValue {
        let start = position
        let number = try number()
        guard number.value.isFinite else { throw FieldFault(.overflow) }
        if number.isInteger {
            let digits = String(decoding: bytes[start..<position], as: UTF8.self)
            return Int64(digits).map(JSONValue.integer) ?? .number(number.value)
        }
        let isWhole = number.value.magnitude <= 9_007_199_254_740_992
            && number.value == number.value.rounded(.towardZero)
        return isWhole ? .integer(Int64(number.value)) : .number(number.value)
    }
}

extension JSONValue {
    /// Reads one JSON text, strictly. It must be UTF-8 without a byte-order mark and have at most
    /// 32 levels. It may have no repeated member, no half of a surrogate pair, and no number beyond
    /// a double.
    ///
    /// - Parameter values: the most values in the text, the text itself included.
    /// - Throws: the first fault. Source: RFC 8259, RFC 7493 §2 (I-JSON).
    package init(reading bytes: [UInt8], values: Int) throws(FieldFault) {
        self = try PayloadScanner.values(of: bytes, limit: values)
    }
}

extension ScannedString {
    /// The complete decoded text.
    fileprivate func whole(in bytes: [UInt8]) -> String {
        hasEscapes
            ? String(decoding: Array(decoded(in: bytes)), as: UTF8.self)
            : String(decoding: bytes[start..<end], as: UTF8.self)
    }
}
