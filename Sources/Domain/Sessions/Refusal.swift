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
    /// Validation failed; also a wrong clock.
    case validation = 142
    case rateLimit = 155
    case sessionMissing = 206
    /// The session has ended; a person must provision again.
    case invalidSession = 209
}

/// The answer to a request that was understood but refused: a number of the contract and a
/// sentence.
///
/// The sentence is for people, names no secret, and is safe to log.
package struct Refusal: Error, Equatable, Sendable {
    /// The number; a peer may send one that `ErrorCode` does not list.
    package let code: Int
    package let text: String
    /// The name by which a page chooses its advice to the reader. Messages between board and
    /// authority have none.
    package let name: Name?
    /// The time after which a retry may help; nil: not given. Source: the wire contract, Overload.
    package var retryAfter: Duration?

    /// A fixed name for the kind of refusal, such as `claim-used`. It never changes.
    package struct Name: Hashable, Sendable, CustomStringConvertible {
        package let description: String
        package init(_ description: String) { self.description = description }
    }

    package init(_ code: ErrorCode, _ text: String, name: Name? = nil) {
        self.code = code.rawValue
        self.text = text
        self.name = name
    }

    /// A refusal that a peer sent.
    package init(code: Int, text: String) {
        self.code = code
        self.text = text
        name = nil
    }

    package func `is`(_ code: ErrorCode) -> Bool { self.code == code.rawValue }
}
