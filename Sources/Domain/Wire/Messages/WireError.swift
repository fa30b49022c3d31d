package import Sessions

/// Bytes from a peer that are not the message they should be.
///
/// The member names are the contract's or the sender's own, bounded; no value is repeated.
package enum WireError: Error, Equatable, Sendable {
    /// Not JSON, or not a JSON object.
    case notJSON
    /// A member that must be there is not.
    case missing(String)
    /// A member has another type, form or range than the contract gives it.
    case mistyped(String)
    /// More bytes than a message of this kind may have.
    case tooLarge(limit: Int)

    /// What a peer is told.
    package var refusal: Refusal {
        switch self {
        case .notJSON: Refusal(.invalidJSON, "not a JSON object")
        case .missing(let member): Refusal(.validation, "the member \(member) is missing")
        case .mistyped(let member): Refusal(.wrongType, "the member \(member) is malformed")
        case .tooLarge(let limit): Refusal(.tooLarge, "more than \(limit) bytes")
        }
    }
}
