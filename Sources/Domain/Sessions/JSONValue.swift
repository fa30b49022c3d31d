/// A JSON value that is stored and forwarded but not checked, such as a session's custom field.
///
/// Source: RFC 8259 §3.
package indirect enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
}
