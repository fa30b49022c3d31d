/// Why a request was refused, as metrics and the log name it; a name never changes its meaning.
package enum RefusalReason: String, Sendable, CaseIterable {
    /// 119: the caller is known and may not do this.
    case forbidden
    case masterKey = "master-key"
    case clientKey = "client-key"
    /// No session or refresh token could look like it, or this authority did not make it.
    case malformedToken = "malformed-token"
    /// No session here ever had this token, or the session was deleted since.
    case unknownToken = "unknown-token"
    /// Over HTTP, the token of a session that lives on a board.
    case boardToken = "board-token"
    /// On the outbox of one board, the token of another: it was taken from that one.
    case foreignToken = "foreign-token"
}

/// A refused request as the log has it: no payload, no token and no key is in it.
package struct RefusedRequest: Equatable, Sendable {
    package let reason: RefusalReason
    /// `user ID`, `board ID`, `master key` or `nobody`.
    package let subject: String
    /// The class that it is about, such as `_Session`; `-` where it is about none.
    package let className: String
    /// The route or the message's type.
    package let operation: String
    /// The peer's address, as it is counted; nil on MQTT.
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

/// Who holds a session token, or why nobody does.
package enum TokenHolder: Sendable {
    case caller(Caller)
    /// Nil: its session is over.
    case nobody(RefusalReason?)
}
