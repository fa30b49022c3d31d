/// A certain or probable mistake in a policy or a route.
package struct PolicyFinding: Equatable, Sendable {
    /// The raw values are kebab-case and never renamed.
    package enum Kind: String, Sendable, CaseIterable {
        /// An earlier rule takes every write that this rule matches.
        case unreachableRule = "unreachable-rule"
        /// A class that appears only here, and whose name is close to a known one.
        case classTypo = "class-typo"
        /// The same for an app.
        case appTypo = "app-typo"
        /// A class that differs from a system class only by its `_` or its case.
        case systemClass = "system-class"
        /// A rule for a class that the built-in rules close.
        case closedClass = "closed-class"
        /// An operation that the session's scope never allows.
        case scopeForbids = "scope-forbids"
        /// A `max_bytes` above the limit of another layer.
        case sizeNotReached = "size-not-reached"
        /// A limit in a rule that allows nothing.
        case noEffect = "no-effect"
        /// A route whose writes are refused with any payload.
        case routeRefused = "route-refused"
    }

    /// The place of the mistake.
    package enum Place: Equatable, Sendable {
        case policy(line: Int)
        /// A line in `agent.toml`.
        case route(line: Int)

        package var line: Int {
            switch self {
            case .policy(let line), .route(let line): line
            }
        }
    }

    package let kind: Kind
    /// The faulty rule; for a route, the rule that refuses it.
    package let rule: RuleID
    package let place: Place
    /// A sentence that tells the author what to do.
    package let text: String
}
