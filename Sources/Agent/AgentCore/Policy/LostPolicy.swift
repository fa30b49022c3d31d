import Gate
import Sessions
import Wire

/// A policy file that was in force and is missing now. A lost file must not allow anything.
extension Agent {
    /// Logs at the start that the policy is lost, or remembers whether a policy exists.
    mutating func judgePolicyAtStart() {
        if isPolicyLost { return emit(.log(.error, Rules.lostPolicy)) }
        remember(rules.policy)
    }

    private mutating func remember(_ policy: Policy?) {
        let hasPolicy = policy != nil
        guard records.memory.hasPolicy != hasPolicy else { return }
        records.memory.hasPolicy = hasPolicy
        emit(.commit([.memory(records.memory)]))
    }

    /// Puts a policy in force. Nil means that no policy is intended.
    mutating func put(_ policy: Policy?, inForceAt instant: Instant) {
        bus.health.changed()
        remember(policy)
        rules.setPolicy(policy, under: Self.scope(of: records.session), at: instant.monotonic)
    }

    /// Confirms that no policy is intended. Refuses if a policy is in force.
    mutating func acceptNoPolicy(at instant: Instant) -> JSONValue {
        guard rules.policy == nil || isPolicyLost else {
            return Refusal(.forbidden, "a policy file is in force").json
        }
        put(nil, inForceAt: instant)
        emit(.log(.warning, "in force now: no policy file, as an operator has confirmed"))
        return .object(["result": .string("done")])
    }
}
