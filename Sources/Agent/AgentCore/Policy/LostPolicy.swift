import Gate
import Sessions
import Wire

/// A policy file that was in force and is missing now. A lost file must not allow anything.
extension Agent {
    static let lostPolicy = "policy.toml was in force and is gone, so every write is refused: "
        + "bring it back, or run `postern-agent policy accept-none`"

    /// Logs at the start that the policy is lost, or remembers whether a policy exists.
    mutating func judgePolicyAtStart() {
        if isPolicyLost { return emit(.log(.error, Self.lostPolicy)) }
        remember(policy)
    }

    private mutating func remember(_ policy: Policy?) {
        let hasPolicy = policy != nil
        guard records.memory.hasPolicy != hasPolicy else { return }
        records.memory.hasPolicy = hasPolicy
        emit(.commit([.memory(records.memory)]))
    }

    /// Puts a policy in force. Nil means that no policy is intended.
    mutating func put(_ policy: Policy?, inForceAt instant: Instant) {
        isPolicyLost = false
        bus.healthIsStale = true
        remember(policy)
        guard policy != self.policy else { return }
        limiter.carry(from: self.policy, to: policy, at: instant.monotonic)
        self.policy = policy
        rulesNews.changed()
        gate = Gate(policy: policy, scope: Self.scope(of: records.session))
    }

    /// Gives a refusal the lost policy as its reason, instead of a missing rule.
    func named(_ rejection: Rejection) -> Rejection {
        guard isPolicyLost, rejection.rule == .policyDefault else { return rejection }
        return Rejection(code: rejection.code, rule: .policyDefault, reason: Self.lostPolicy)
    }

    /// Confirms that no policy is intended. Refuses if a policy is in force.
    mutating func acceptNoPolicy(at instant: Instant) -> JSONValue {
        guard policy == nil || isPolicyLost else {
            return Refusal(.forbidden, "a policy file is in force").json
        }
        put(nil, inForceAt: instant)
        emit(.log(.warning, "in force now: no policy file, as an operator has confirmed"))
        return .object(["result": .string("done")])
    }
}
