import Sessions

/// Decides by the rules whether a board's data may leave. No other code decides this.
///
/// The agent checks the topic and the session before it, and the rates and the room in the outbox
/// after it: see `AgentBus.swift`.
///
/// A write passes only if the built-in rules, the session's scope and the board's policy file all
/// allow it. An absent scope or file forbids nothing. No layer can allow a write that another layer
/// refuses.
package struct Gate: Sendable {
    /// The most bytes that a payload may have under any rule.
    package static let payloadLimit = 256 * 1024

    private let scope: RuleLayer?
    private let policy: RuleLayer?
    let apps: [AppName: AppLimit]
    /// Outside the contract's root only the topics that the scope grants may be published to.
    private let grants: [TopicFilter]

    package init(policy: Policy?, scope: Scope?) {
        self.policy = policy.map {
            RuleLayer($0.rules, allowsByDefault: $0.allowsByDefault, defaultID: .policyDefault)
        }
        self.scope = scope.map {
            RuleLayer($0.rules, allowsByDefault: $0.allowsByDefault, defaultID: .scopeDefault)
        }
        apps = policy?.apps ?? [:]
        grants = scope?.topics ?? []
    }

    /// Decides from its arguments alone: no clock, no store, no log. `RateLimiter` then checks the
    /// rates of the writes that this allows.
    ///
    /// Allocates only if a deciding rule has `fields`. The time does not grow with the number of
    /// rules.
    package func decide(_ write: borrowing Write) -> Decision {
        if let rejection = Self.builtin(write) { return .deny(rejection) }
        let scoped = scope?.position(of: write)
        if let rejection = scope?.verdict(on: write, at: scoped) { return .deny(rejection) }
        if let rejection = grantVerdict(on: write) { return .deny(rejection) }
        let ruled = policy?.position(of: write)
        if let rejection = appVerdict(on: write) { return .deny(rejection) }
        if let rejection = policy?.verdict(on: write, at: ruled) { return .deny(rejection) }
        // The payload is read last, and only if a rule needs it.
        if let rejection = scope?.payloadVerdict(on: write, at: scoped) {
            return .deny(rejection)
        }
        if let rejection = policy?.payloadVerdict(on: write, at: ruled) {
            return .deny(rejection)
        }
        if let policy { return .allow(policy.id(at: ruled)) }
        if let scope { return .allow(scope.id(at: scoped)) }
        return .allow(.builtin(.allowed))
    }

    /// The decision of each layer. The last entry is the effective decision.
    package func explain(_ write: borrowing Write) -> [LayerVerdict] {
        let builtin = Self.builtin(write).map(Decision.deny) ?? .allow(.builtin(.allowed))
        let scoped = grantVerdict(on: write).map(Decision.deny) ?? scope?.decide(write)
        let limit = apps[write.app]
        let limited = appVerdict(on: write).map(Decision.deny) ?? .allow(.policyApp(write.app))
        return [
            LayerVerdict(layer: "built-in", decision: builtin),
            LayerVerdict(
                layer: "scope", decision: scoped,
                says: scope?.rule(for: write)?.text),
            LayerVerdict(
                layer: "app limit", decision: limit == nil ? nil : limited, says: limit?.text),
            LayerVerdict(
                layer: "policy.toml", decision: policy?.decide(write),
                says: policy?.rule(for: write)?.text),
            LayerVerdict(layer: "effective", decision: decide(write)),
        ]
    }

    /// The id of the policy file's rule that matches a write, whether it allows or denies.
    package func policyRule(for write: borrowing Write) -> RuleID? {
        policy.map { $0.id(at: $0.position(of: write)) }
    }

    /// Why such a write is refused with any payload; nil if some payload might pass.
    func refusalWhateverPayload(
        _ app: AppName, _ className: ClassName, _ operation: Operation
    ) -> Rejection? {
        let write = Write(app: app, className: className, operation: operation, payload: [])
        if let rejection = Self.builtin(write) { return rejection }
        for layer in [scope, policy] {
            guard let layer else { continue }
            if let rejection = layer.verdict(on: write, at: layer.position(of: write)) {
                return rejection
            }
        }
        return nil
    }

    /// The rates that a write allowed by the gate counts against. Does not allocate.
    package func rates(of write: borrowing Write) -> AppliedRates {
        AppliedRates(
            app: apps[write.app]?.rate.map { .init(rule: .policyApp(write.app), rate: $0) },
            scope: scope?.rate(of: write), policy: policy?.rate(of: write))
    }

    /// Why no restricted session may write this class under any rules; nil if rules can open the
    /// class. The board's gate and the authority's own routes both use this.
    package static func closure(of className: ClassName) -> Rejection? {
        if className.isProtected {
            return Rejection(.forbidden, .builtin(.protectedClass), .protectedClass)
        }
        if className.isReserved {
            return Rejection(.forbidden, .builtin(.reservedClass), .reservedClass)
        }
        return nil
    }

    private static func builtin(_ write: borrowing Write) -> Rejection? {
        if let rejection = closure(of: write.className) { return rejection }
        let limit = ByteCount(bytes: Int64(payloadLimit))
        return write.excess(over: limit, under: .builtin(.payloadSize))
    }

    /// An absent scope grants no topic.
    private func grantVerdict(on write: borrowing Write) -> Rejection? {
        guard case .elsewhere(let topic)? = write.destination,
            !grants.contains(where: { $0.matches(topic) })
        else { return nil }
        return Rejection(.forbidden, .scopeTopics, .notGranted(topic: topic))
    }

    /// Checks the size limit of the policy file's `[app.NAME]`, not its rate.
    private func appVerdict(on write: borrowing Write) -> Rejection? {
        guard let limit = apps[write.app]?.maxBytes else { return nil }
        return write.excess(over: limit, under: .policyApp(write.app))
    }
}
