package import Sessions

/// One write to decide about. Its names are parsed; its payload is unchanged.
package struct Write: Sendable {
    package let app: AppName
    package let className: ClassName
    package let operation: Operation
    /// Read only if a rule has `fields`.
    package let payload: [UInt8]
    /// The destination of a route; nil: the contract's topic.
    package let destination: Destination?

    package init(
        app: AppName, className: ClassName, operation: Operation, payload: [UInt8],
        destination: Destination? = nil
    ) {
        self.app = app
        self.className = className
        self.operation = operation
        self.payload = payload
        self.destination = destination
    }
}

/// Whether a write may leave the board. A refusal is a result: never `nil`, never thrown.
package enum Decision: Equatable, Sendable {
    /// Names the rule of the narrowest layer present: the policy file, else the scope, else
    /// built-in.
    case allow(RuleID)
    case deny(Rejection)
}

/// Why a write is refused, and what the app must change.
package struct Rejection: Equatable, Sendable {
    package let code: ErrorCode
    package let rule: RuleID
    /// The payload member that caused the refusal, as a path such as `a.b`.
    package let field: String?
    private let cause: Cause

    package init(code: ErrorCode, rule: RuleID, reason: String, field: String? = nil) {
        self.code = code
        self.rule = rule
        self.field = field
        cause = .told(reason)
    }

    init(_ code: ErrorCode, _ rule: RuleID, _ cause: Cause) {
        self.code = code
        self.rule = rule
        self.cause = cause
        field = nil
    }

    init(_ fault: FieldFault, _ rule: RuleID) {
        code = fault.code
        self.rule = rule
        field = fault.path.isEmpty ? nil : fault.path
        cause = .payload(fault.kind)
    }

    /// A sentence for the app's developers. Built only on request, so that deciding does not
    /// allocate.
    package var reason: String {
        if case .noRule = cause, case .scope = rule.layer {
            return "the session's scope has no rule that allows this class to this app; the person"
                + " who claims the board can give it another scope"
        }
        return cause.text
    }

    /// How long the rate's bucket stays empty. Nil: no rate refuses it.
    package var wait: Duration? {
        if case .rate(_, let wait) = cause { wait } else { nil }
    }

    enum Cause: Equatable, Sendable {
        case protectedClass
        case reservedClass
        case tooLarge(bytes: Int, limit: ByteCount)
        /// The deciding rule allows other operations only.
        case operation(Operation, allowed: Operations)
        /// No rule matches this class, and the default is to deny.
        case noRule
        /// No filter of the scope's `topics` matches.
        case notGranted(topic: String)
        case rate(Rate, wait: Duration)
        case payload(FieldFault.Kind)
        case told(String)

        var text: String {
            switch self {
            case .protectedClass:
                "a restricted session never writes _User, _Session or _Role; use another class"
            case .reservedClass: "classes that begin with _ belong to the system; use another class"
            case .tooLarge(let bytes, let limit):
                "the payload has \(bytes) bytes and at most \(limit) may pass; send less at once"
            case .operation(let operation, let allowed):
                "\(operation.rawValue) is not allowed on this class; allowed: \(allowed)"
            case .noRule: "no rule allows this class to this app; ask for one in the policy"
            case .notGranted(let topic):
                "the session's scope does not grant \(topic); an administrator can add it"
            case .rate(let rate, let wait): "more than \(rate); wait \(Self.text(wait))"
            case .payload(let kind): kind.reason
            case .told(let text): text
            }
        }

        /// The wait, rounded up: in milliseconds below 10 s, else in seconds.
        private static func text(_ wait: Duration) -> String {
            wait < .seconds(10)
                ? "\(wait.milliseconds + 1) ms" : "\(wait.milliseconds / 1000 + 1) s"
        }
    }
}

/// The decision of one layer about a write, for people who ask why.
package struct LayerVerdict: Equatable, Sendable {
    package let layer: String
    /// Nil for an absent layer, which forbids nothing.
    package let decision: Decision?
    /// The deciding rule of a file or scope, as one line of text.
    package let says: String?

    init(layer: String, decision: Decision?, says: String? = nil) {
        self.layer = layer
        self.decision = decision
        self.says = says
    }
}
