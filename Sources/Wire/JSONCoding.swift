import FoundationEssentials
package import Sessions

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // What is most of a message first: each wrong guess is an error thrown and caught.
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode([String: JSONValue].self) {
            self = .object(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else {
            self = .array(try container.decode([JSONValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue {
    /// Parses one JSON text of at most `limit` bytes.
    package init(parsing bytes: [UInt8], limit: Int = 256 * 1024) throws(WireError) {
        guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
        if let plain = PlainJSONReader.read(bytes) {
            self = plain
            return
        }
        guard !Self.isTooDeep(bytes) else { throw .notJSON }
        self = try Self.decoded(bytes)
    }

    /// Objects and arrays within each other. The decoder takes a time that grows faster than
    /// with their number: a few kilobytes of brackets would cost seconds.
    private static let depthLimit = 32

    private static func isTooDeep(_ bytes: [UInt8]) -> Bool {
        var (depth, isInString, isEscaped) = (0, false, false)
        for byte in bytes {
            if isInString {
                isInString = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                if depth > depthLimit { return true }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
        }
        return false
    }

    /// By the decoder, which reads all of JSON.
    static func decoded(_ bytes: [UInt8]) throws(WireError) -> JSONValue {
        do {
            return try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
        } catch {
            throw .notJSON
        }
    }

    /// The JSON text, members in the order of their names. Numbers that JSON cannot write
    /// (they never come from JSON) become `null`.
    package var bytes: [UInt8] { PlainJSONWriter.write(self) ?? encoded }

    /// By the encoder, which writes all of JSON.
    var encoded: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return Array("null".utf8) }
        return Array(data)
    }

    /// The JSON text as a string.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// A JSON object whose members are asked for by name and type.
package struct JSONObject: Equatable, Sendable {
    package var members: [String: JSONValue]

    package init(_ members: [String: JSONValue]) { self.members = members }

    /// Parses a JSON object of at most `limit` bytes.
    package init(parsing bytes: [UInt8], limit: Int = 256 * 1024) throws(WireError) {
        guard case .object(let members) = try JSONValue(parsing: bytes, limit: limit) else {
            throw .notJSON
        }
        self.members = members
    }

    /// A member that may be absent; `null` counts as absent.
    package func optional<T>(
        _ name: String, _ read: (JSONValue) throws(WireError) -> T?
    ) throws(WireError) -> T? {
        guard let value = members[name], value != .null else { return nil }
        guard let result = try read(value) else { throw .mistyped(name) }
        return result
    }

    /// A member that must be there.
    package func required<T>(
        _ name: String, _ read: (JSONValue) throws(WireError) -> T?
    ) throws(WireError) -> T {
        guard let result = try optional(name, read) else { throw .missing(name) }
        return result
    }

    package func string(_ name: String) throws(WireError) -> String {
        try required(name) { $0.asString }
    }

    package func integer(_ name: String) throws(WireError) -> Int64 {
        try required(name) { $0.asInteger }
    }

    /// A time in whole seconds.
    package func time(_ name: String) throws(WireError) -> Timestamp {
        try required(name) { value in value.asInteger.flatMap(Timestamp.init(seconds:)) }
    }

    package func object(_ name: String) throws(WireError) -> JSONObject {
        try required(name) { $0.asObject.map(JSONObject.init) }
    }

    /// A member whose text has a type of its own.
    package func parsed<T>(_ name: String, _ parse: (String) -> T?) throws(WireError) -> T {
        try required(name) { value in value.asString.flatMap(parse) }
    }

    /// Base64url of exactly `count` bytes.
    package func bytes(_ name: String, count: Int) throws(WireError) -> [UInt8] {
        try parsed(name) { text in
            Base64URL.decode(text).flatMap { $0.count == count ? $0 : nil }
        }
    }
}

extension JSONValue {
    package var asString: String? { if case .string(let value) = self { value } else { nil } }
    package var asInteger: Int64? { if case .integer(let value) = self { value } else { nil } }
    package var asBool: Bool? { if case .bool(let value) = self { value } else { nil } }
    package var asArray: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    package var asObject: [String: JSONValue]? {
        if case .object(let value) = self { value } else { nil }
    }

    /// A time as the contract writes it.
    package static func time(_ time: Timestamp) -> JSONValue { .integer(time.seconds) }
}
