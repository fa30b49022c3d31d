import Sessions

/// Writes JSON without spaces. Source: RFC 8259.
struct JSONWriter {
    private var bytes: [UInt8] = []
    private static let digits = Array("0123456789abcdef".utf8)

    static func write(_ value: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.bytes.reserveCapacity(512)
        writer.add(value)
        return writer.bytes
    }

    private init() {}

    private mutating func add(_ value: JSONValue) {
        switch value {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): bytes.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): bytes.append(contentsOf: "\(value)".utf8)
        case .number(let value): add(value)
        case .string(let value): add(value)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                add(value)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members): add(members)
        }
    }

    /// The shortest text that reads back as the same double. Whole numbers have no ".0".
    private mutating func add(_ number: Double) {
        guard number.isFinite else { return bytes.append(contentsOf: "null".utf8) }
        let text = number.description.utf8
        bytes.append(contentsOf: number.description.hasSuffix(".0") ? text.dropLast(2) : text[...])
    }

    /// Writes the members sorted by name.
    private mutating func add(_ members: [String: JSONValue]) {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for (key, value) in members.sorted(by: { $0.key < $1.key }) {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            add(key)
            bytes.append(UInt8(ascii: ":"))
            add(value)
        }
        bytes.append(UInt8(ascii: "}"))
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
