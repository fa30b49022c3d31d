/// The type of a value.
///
/// Written as in a policy file: `string`, `string(1..64)` (bytes of UTF-8), `number`,
/// `number(-40..85)`, `integer`, `integer(0..)`, `boolean`, `null`, `any`, `enum(C|F)`, `array`,
/// `array(number)`, `array(number(0..1), 1..8)`, `object`. Either end of a range may be absent.
package indirect enum ValueType: Equatable, Sendable {
    case string(CountRange)
    case number(NumberRange)
    /// No fraction, no exponent, within ±(2^53 - 1), so that every reader sees the same number.
    case integer(NumberRange)
    case boolean
    case null
    case any
    /// A string that equals one of these.
    case oneOf([String])
    case array(ValueType, CountRange)
    /// With fields: only these. Without: any members except those reserved for a server.
    case object(FieldRules?)
}

/// The allowed range of a count; a nil end is open.
package struct CountRange: Equatable, Sendable {
    package let lower: Int?
    package let upper: Int?

    package static let any = Self(lower: nil, upper: nil)

    func contains(_ count: Int) -> Bool { count >= lower ?? 0 && count <= upper ?? .max }

    var isOpen: Bool { lower == nil && upper == nil }
}

/// The allowed range of a number; a nil end is open.
package struct NumberRange: Equatable, Sendable {
    package let lower: Double?
    package let upper: Double?

    package static let any = Self(lower: nil, upper: nil)

    func contains(_ value: Double) -> Bool {
        value >= lower ?? -.infinity && value <= upper ?? .infinity
    }

    var isOpen: Bool { lower == nil && upper == nil }
}

extension CountRange: CustomStringConvertible {
    package var description: String {
        (lower.map { "\($0)" } ?? "") + ".." + (upper.map { "\($0)" } ?? "")
    }
}

extension NumberRange: CustomStringConvertible {
    package var description: String { Self.text(lower) + ".." + Self.text(upper) }

    /// Prints a whole number without `.0`, so that the text is the same that people write.
    private static func text(_ bound: Double?) -> String {
        guard let bound else { return "" }
        if let whole = Int(exactly: bound) { return "\(whole)" }
        return "\(bound)"
    }
}

extension ValueType: CustomStringConvertible {
    /// The text that `init?(_:)` parses. An object with fields has no such text and prints as
    /// `object`.
    package var description: String {
        switch self {
        case .string(let range): range.isOpen ? "string" : "string(\(range))"
        case .number(let range): range.isOpen ? "number" : "number(\(range))"
        case .integer(let range): range.isOpen ? "integer" : "integer(\(range))"
        case .boolean: "boolean"
        case .null: "null"
        case .any: "any"
        case .oneOf(let values): "enum(\(values.joined(separator: "|")))"
        case .array(.any, let range) where range.isOpen: "array"
        case .array(let element, let range):
            range.isOpen ? "array(\(element))" : "array(\(element), \(range))"
        case .object: "object"
        }
    }
}
