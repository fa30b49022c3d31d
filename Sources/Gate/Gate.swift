import Sessions

/// The one place where a board's data is judged.
///
/// Effective permission is what the built-in rules, the session's scope and the board's
/// policy file all allow. A scope or file that is not there forbids nothing; none can allow
/// what another layer refuses.
package struct Gate: Sendable {
    /// The most bytes that a payload may have under any rule.
    package static let payloadLimit = 256 * 1024

    private let scope: Layer?
    private let policy: Layer?
    private let apps: [AppName: AppLimit]

    package init(policy: Policy?, scope: Scope?) {
        self.policy = policy.map { policy in
            Layer(
                index: RuleIndex(policy.rules), allowsByDefault: policy.allowsByDefault,
                defaultID: .policyDefault)
        }
        self.scope = scope.map { scope in
            Layer(
                index: RuleIndex(scope.rules), allowsByDefault: scope.allowsByDefault,
                defaultID: .scopeDefault)
        }
        apps = policy?.apps ?? [:]
    }

    /// Decides from its arguments alone: no clock, no store, no log. How often a write may
    /// come is `RateLimiter`'s to say, about what this allows.
    package func decide(_ write: borrowing Write) -> Decision {
        var decision = Self.builtin(write)
        for layer in [scope, policy] {
            guard case .allow = decision else { return decision }
            if let layer { decision = layer.decide(write) }
        }
        guard case .allow = decision, let limit = apps[write.app]?.maxBytes,
            write.payload.count > limit.bytes
        else { return decision }
        return .deny(.tooLarge(limit.bytes, .policyApp(write.app)))
    }

    /// Each layer's word, and the last the one that counts.
    package func explain(_ write: borrowing Write) -> [LayerVerdict] {
        [
            LayerVerdict(layer: "built-in", decision: Self.builtin(write)),
            LayerVerdict(layer: "scope", decision: scope?.decide(write)),
            LayerVerdict(layer: "policy.toml", decision: policy?.decide(write)),
            LayerVerdict(layer: "effective", decision: decide(write)),
        ]
    }

    /// The rates that a write allowed by the gate counts against.
    package func rates(of write: borrowing Write) -> [(rule: RuleID, rate: Rate)] {
        var rates: [(RuleID, Rate)] = []
        if let rate = apps[write.app]?.rate { rates.append((.policyApp(write.app), rate)) }
        for layer in [scope, policy] {
            if let rule = layer?.index.first(matching: write), let rate = rule.rate {
                rates.append((rule.id, rate))
            }
        }
        return rates
    }

    private static func builtin(_ write: borrowing Write) -> Decision {
        if write.className.isProtected {
            return .deny(Rejection(
                code: .forbidden, rule: .builtin(.protectedClass),
                reason: "a restricted session writes no \(write.className)"))
        }
        if write.className.isReserved {
            return .deny(Rejection(
                code: .forbidden, rule: .builtin(.reservedClass),
                reason: "classes that begin with _ are the system's"))
        }
        if write.payload.count > payloadLimit {
            return .deny(.tooLarge(Int64(payloadLimit), .builtin(.payloadSize)))
        }
        return .allow(.builtin(.allowed))
    }
}

/// One list of rules with its default.
private struct Layer: Sendable {
    let index: RuleIndex
    let allowsByDefault: Bool
    let defaultID: RuleID

    func decide(_ write: borrowing Write) -> Decision {
        guard let rule = index.first(matching: write) else {
            return allowsByDefault ? .allow(defaultID) : .deny(Rejection(
                code: .forbidden, rule: defaultID,
                reason: "no rule allows \(write.className)"))
        }
        guard rule.allow.contains(write.operation) else {
            return .deny(Rejection(
                code: .forbidden, rule: rule.id,
                reason: "\(write.operation.rawValue) of \(write.className) is not allowed"))
        }
        if let limit = rule.maxBytes, write.payload.count > limit.bytes {
            return .deny(.tooLarge(limit.bytes, rule.id))
        }
        if let fields = rule.fields, write.operation != .delete || !write.payload.isEmpty,
            let fault = PayloadCheck.fault(in: write.payload, fields: fields)
        {
            return .deny(Rejection(
                code: fault.code, rule: rule.id, reason: fault.text, field: fault.field))
        }
        return .allow(rule.id)
    }
}

extension Rejection {
    static func tooLarge(_ limit: Int64, _ rule: RuleID) -> Self {
        Rejection(code: .tooLarge, rule: rule, reason: "the payload has more than \(limit) bytes")
    }
}
