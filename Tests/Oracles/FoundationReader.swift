import Foundation
package import Sessions

/// What Foundation's decoder makes of a JSON text; nil where it refuses, and for more than 32
/// levels, of which a few kilobytes would cost it seconds.
package enum FoundationReader {
    package static func value(of bytes: [UInt8]) -> JSONValue? {
        guard !isTooDeep(bytes) else { return nil }
        return (try? JSONDecoder().decode(Tree.self, from: Data(bytes)))?.value
    }

    private struct Tree: Decodable {
        let value: JSONValue

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                value = .null
            } else if let text = try? container.decode(String.self) {
                value = .string(text)
            } else if let integer = Self.integer(container) {
                value = .integer(integer)
            } else if let members = try? container.decode([String: Tree].self) {
                value = .object(members.mapValues(\.value))
            } else if let isTrue = try? container.decode(Bool.self) {
                value = .bool(isTrue)
            } else if let number = try? container.decode(Double.self) {
                value = .number(number)
            } else {
                value = .array(try container.decode([Tree].self).map(\.value))
            }
        }

        /// Foundation reads 11234567834178045.1 as the integer 11234567834178045, though the
        /// nearest double is 11234567834178046. The integer counts unless the double
        /// differs.
        private static func integer(_ container: any SingleValueDecodingContainer) -> Int64? {
            guard let integer = try? container.decode(Int64.self) else { return nil }
            // It refuses 1e-400 as a double and reads it as the integer 0.
            let number = try? container.decode(Double.self)
            return number.map { $0 == Double(integer) } ?? true ? integer : nil
        }
    }

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
                if depth > 32 { return true }
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
        }
        return false
    }
}
