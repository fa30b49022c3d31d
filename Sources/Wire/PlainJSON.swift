import Sessions

/// Reads the JSON that programs write: objects, arrays, strings without escapes, whole numbers.
///
/// A tenth of the decoder's time, for what is most of all messages. It judges nothing: where it
/// meets anything else, flaws included, it says nothing at all and the decoder is asked. What
/// it does read, the decoder would read alike; a test holds one against the other.
struct PlainJSONReader {
    private let bytes: [UInt8]
    private var position = 0

    /// Objects and arrays within each other.
    private static let maxDepth = 32
    /// Of an integer that certainly fits into 64 bits.
    private static let maxDigits = 18
    private static let yes = Array("true".utf8)
    private static let no = Array("false".utf8)
    private static let nothing = Array("null".utf8)

    /// Nil where the decoder has to be asked.
    static func read(_ bytes: [UInt8]) -> JSONValue? {
        var reader = PlainJSONReader(bytes: bytes)
        guard let value = reader.value(depth: 0) else { return nil }
        reader.skipSpace()
        return reader.position == bytes.count ? value : nil
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            position += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) -> JSONValue? {
        skipSpace()
        switch next {
        case UInt8(ascii: "\""): return string().map(JSONValue.string)
        case UInt8(ascii: "{"): return object(depth: depth + 1)
        case UInt8(ascii: "["): return array(depth: depth + 1)
        case UInt8(ascii: "t"): return take(Self.yes) ? .bool(true) : nil
        case UInt8(ascii: "f"): return take(Self.no) ? .bool(false) : nil
        case UInt8(ascii: "n"): return take(Self.nothing) ? .null : nil
        default: return integer().map(JSONValue.integer)
        }
    }

    private mutating func take(_ word: [UInt8]) -> Bool {
        guard bytes[position...].starts(with: word) else { return false }
        position += word.count
        return true
    }

    private mutating func integer() -> Int64? {
        let isNegative = take(UInt8(ascii: "-"))
        let start = position
        var value: Int64 = 0
        while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"),
            position - start < Self.maxDigits
        {
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            position += 1
        }
        let digits = position - start
        // No leading zero, no zero below zero; a fraction, an exponent or more digits are for
        // the decoder.
        guard digits > 0, digits == 1 || bytes[start] != UInt8(ascii: "0"),
            !(isNegative && value == 0), isDelimiter(next)
        else { return nil }
        return isNegative ? -value : value
    }

    private func isDelimiter(_ byte: UInt8?) -> Bool {
        switch byte {
        case nil, UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), 0x20, 0x0A, 0x0D,
            0x09: true
        default: false
        }
    }

    private mutating func string() -> String? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = position
        while let byte = next, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20, byte != UInt8(ascii: "\\") else { return nil }
            position += 1
        }
        let text = bytes[start..<position]
        guard take(UInt8(ascii: "\"")) else { return nil }
        return String(validating: text, as: UTF8.self)
    }

    private mutating func array(depth: Int) -> JSONValue? {
        guard depth <= Self.maxDepth, take(UInt8(ascii: "[")) else { return nil }
        var values: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return .array(values) }
        repeat {
            guard let value = value(depth: depth) else { return nil }
            values.append(value)
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "]")) ? .array(values) : nil
    }

    private mutating func object(depth: Int) -> JSONValue? {
        guard depth <= Self.maxDepth, take(UInt8(ascii: "{")) else { return nil }
        var members: [String: JSONValue] = [:]
        skipSpace()
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard let key = string() else { return nil }
            skipSpace()
            guard take(UInt8(ascii: ":")), let value = value(depth: depth),
                members.updateValue(value, forKey: key) == nil
            else { return nil }
            skipSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}")) ? .object(members) : nil
    }
}

/// Writes what needs no rounding: all but numbers with a fraction, as the encoder would.
struct PlainJSONWriter {
    private var bytes: [UInt8] = []
    private static let digits = Array("0123456789abcdef".utf8)

    /// Nil where the encoder has to be asked.
    static func write(_ value: JSONValue) -> [UInt8]? {
        var writer = PlainJSONWriter()
        writer.bytes.reserveCapacity(512)
        return writer.add(value) ? writer.bytes : nil
    }

    private init() {}

    private mutating func add(_ value: JSONValue) -> Bool {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): bytes.append(contentsOf: "\(value)".utf8)
        case .number: return false
        case .string(let value): add(value)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                guard add(value) else { return false }
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members): return add(members)
        }
        return true
    }

    /// Members in the order of their names.
    private mutating func add(_ members: [String: JSONValue]) -> Bool {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            add(key)
            bytes.append(UInt8(ascii: ":"))
            guard add(value) else { return false }
        }
        bytes.append(UInt8(ascii: "}"))
        return true
    }

    private mutating func add(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): escape(byte)
            case 0x08: escape(UInt8(ascii: "b"))
            case 0x09: escape(UInt8(ascii: "t"))
            case 0x0A: escape(UInt8(ascii: "n"))
            case 0x0C: escape(UInt8(ascii: "f"))
            case 0x0D: escape(UInt8(ascii: "r"))
            case ..<0x20:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes += [Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 0xF)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) { bytes += [UInt8(ascii: "\\"), byte] }
}
