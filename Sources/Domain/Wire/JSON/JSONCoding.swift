import Gate
package import Sessions

extension JSONValue {
    /// The most values in one text, the text itself included.
    package static let valueLimit = 32_768

    /// Parses one JSON text of at most `limit` bytes and `values` values.
    package init(
        parsing bytes: [UInt8], limit: Int = 256 * 1024, values: Int = valueLimit
    ) throws(WireError) {
        guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
        do throws(FieldFault) {
            try self.init(reading: bytes, values: values)
        } catch {
            throw .notJSON
        }
    }

    /// The JSON text, with members sorted by name. Numbers that JSON cannot express become `null`;
    /// such numbers never come from JSON.
    package var bytes: [UInt8] { JSONWriter.write(self) }

    /// The JSON text as a string.
    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// A JSON object, with typed access to its members by name.
package struct JSONObject: Equatable, Sendable {
    package var members: [String: JSONValue]

    package init(_ members: [String: JSONValue]) { self.members = members }

    /// Parses a JSON object of at most `limit` bytes and `values` values.
    package init(
        parsing bytes: [UInt8], limit: Int = 256 * 1024, values: Int = JSONValue.valueLimit
    ) throws(WireError) {
        let value = try JSONValue(parsing: bytes, limit: limit, values: values)
        guard case .object(let members) = value else { throw .notJSON }
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

    /// A member that must be present.
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

    /// A member whose text is parsed into its own type.
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
