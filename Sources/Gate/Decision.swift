package import Sessions

/// One write, as the gate looks at it.
package struct Write: Sendable {
    package let app: AppName
    package let className: ClassName
    package let operation: Operation
    package let payload: [UInt8]

    package init(app: AppName, className: ClassName, operation: Operation, payload: [UInt8]) {
        self.app = app
        self.className = className
        self.operation = operation
        self.payload = payload
    }
}

/// Whether a write may leave the board. Never `nil`, never thrown: a refusal is a result.
package enum Decision: Equatable, Sendable {
    case allow(RuleID)
    case deny(Rejection)
}

/// Why a write is refused, and what its app would have to change.
package struct Rejection: Equatable, Sendable {
    package let code: ErrorCode
    package let rule: RuleID
    package let reason: String
    /// The member of the payload that decided, as a path such as `a.b`.
    package let field: String?

    package init(code: ErrorCode, rule: RuleID, reason: String, field: String? = nil) {
        self.code = code
        self.rule = rule
        self.reason = reason
        self.field = field
    }
}

/// One layer's word on a write, for people who ask why.
package struct LayerVerdict: Equatable, Sendable {
    package let layer: String
    /// Nil for a layer that is not there: it forbids nothing.
    package let decision: Decision?
}
