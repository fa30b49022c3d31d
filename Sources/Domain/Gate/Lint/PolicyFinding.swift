/// What a policy says that cannot be what its author meant.
package struct PolicyFinding: Equatable, Sendable {
    /// Kebab-case, and never renamed.
    package enum Kind: String, Sendable, CaseIterable {
        /// An earlier rule takes each write that this one matches.
        case unreachableRule = "unreachable-rule"
        /// A class that nothing else names, and that is nearly one that is named.
        case classTypo = "class-typo"
        /// The same of an app.
        case appTypo = "app-typo"
        /// A class that is a system class but for its `_` or its case.
        case systemClass = "system-class"
        /// A rule for a class that the built-in rules close anyway.
        case closedClass = "closed-class"
        /// An operation that the session's scope never lets pass.
        case scopeForbids = "scope-forbids"
        /// A `max_bytes` above what another layer lets pass.
        case sizeNotReached = "size-not-reached"
        /// A limit on what is not allowed at all.
        case noEffect = "no-effect"
        /// A route that brings in what no payload could make pass.
        case routeRefused = "route-refused"
    }

    /// Where it stands.
    package enum Place: Equatable, Sendable {
        case policy(line: Int)
        /// In `agent.toml`.
        case route(line: Int)

        package var line: Int {
            switch self {
            case .policy(let line), .route(let line): line
            }
        }
    }

    package let kind: Kind
    /// What is at fault; for a route, what refuses it.
    package let rule: RuleID
    package let place: Place
    /// A sentence that says what to do.
    package let text: String
}
