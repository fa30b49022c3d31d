package import Sessions

/// Bytes from a peer that are not a valid message.
///
/// Member names come from the contract or the sender, and are limited in length. No value is
/// included.
package enum WireError: Error, Equatable, Sendable {
    /// Not JSON, or not a JSON object.
    case notJSON
    /// A required member is absent.
    case missing(String)
    /// A member does not have the type, form or range that the contract gives it.
    case mistyped(String)
    /// The message is larger than its kind allows.
    case tooLarge(limit: Int)

    /// The refusal that the peer receives.
    package var refusal: Refusal {
        switch self {
        case .notJSON: Refusal(.invalidJSON, "not a JSON object")
        case .missing(let member): Refusal(.validation, "the member \(member) is missing")
        case .mistyped(let member): Refusal(.wrongType, "the member \(member) is malformed")
        case .tooLarge(let limit): Refusal(.tooLarge, "more than \(limit) bytes")
        }
    }
}
