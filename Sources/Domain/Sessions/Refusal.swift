/// The error numbers of the contract, which are Parse's.
///
/// Source: the wire contract, Error codes; Parse's `Parse.Error`.
package enum ErrorCode: Int, Sendable, CaseIterable {
    /// Not found, or login failed.
    case notFound = 101
    case badClassName = 103
    case badKeyName = 105
    case invalidJSON = 107
    case wrongType = 111
    case tooLarge = 116
    /// Operation forbidden; also an unknown message type.
    case forbidden = 119
    /// Quota: the queue is full.
    case quota = 140
    /// Validation failed; also a clock that is off.
    case validation = 142
    case rateLimit = 155
    case sessionMissing = 206
    /// This session is over; a person must provision again.
    case invalidSession = 209
}

/// A request that was understood and is refused: a number of the contract and a sentence.
///
/// The sentence is for people, names no secret, and is safe to log.
package struct Refusal: Error, Equatable, Sendable {
    /// The number; a peer may send one that `ErrorCode` does not list.
    package let code: Int
    package let text: String
    /// What a page tells its reader what to do by; the wire between board and authority has
    /// none.
    package let name: Name?
    /// When asking again may help; nil: not said. Source: the wire contract, Overload.
    package var retryAfter: Duration?

    /// Which refusal it is, in words that are never changed, such as `claim-used`.
    package struct Name: Hashable, Sendable, CustomStringConvertible {
        package let description: String
        package init(_ description: String) { self.description = description }
    }

    package init(_ code: ErrorCode, _ text: String, name: Name? = nil) {
        self.code = code.rawValue
        self.text = text
        self.name = name
    }

    /// A refusal as a peer sent it.
    package init(code: Int, text: String) {
        self.code = code
        self.text = text
        name = nil
    }

    package func `is`(_ code: ErrorCode) -> Bool { self.code == code.rawValue }
}
