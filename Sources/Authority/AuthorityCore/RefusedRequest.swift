/// Why a request was refused. Metrics and the log use these names; a name never changes its
/// meaning.
package enum RefusalReason: String, Sendable, CaseIterable {
    /// 119: the caller is known and may not do this.
    case forbidden
    case masterKey = "master-key"
    case clientKey = "client-key"
    /// The token has no valid form, or this authority did not make it.
    case malformedToken = "malformed-token"
    /// No session here ever had this token, or the session was deleted since.
    case unknownToken = "unknown-token"
    /// The token of a session that lives on a board, sent over HTTP.
    case boardToken = "board-token"
    /// The token of another board, sent on this board's outbox. It was stolen from that board.
    case foreignToken = "foreign-token"
}

/// A refused request for the log. It contains no payload, no token and no key.
package struct RefusedRequest: Equatable, Sendable {
    package let reason: RefusalReason
    /// `user ID`, `board ID`, `master key` or `nobody`.
    package let subject: String
    /// The class of the request, such as `_Session`; `-` if it has none.
    package let className: String
    /// The route or the message's type.
    package let operation: String
    /// The peer's address, in the form of `CountedOrigin`; nil on MQTT.
    package let origin: String?

    package init(
        _ reason: RefusalReason, subject: String, className: String, operation: String,
        origin: String? = nil
    ) {
        self.reason = reason
        self.subject = subject
        self.className = className
        self.operation = operation
        self.origin = origin
    }
}

/// The holder of a session token, or why it has none.
package enum TokenHolder: Sendable {
    case caller(Caller)
    /// Nil: its session has ended.
    case nobody(RefusalReason?)
}
