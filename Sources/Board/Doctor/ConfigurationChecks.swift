import Gate

extension Check {
    static let configuration = [
        Check(
            id: "config-agent", group: .configuration, about: "agent.toml is well-formed"
        ) { facts in
            guard let fault = facts.agentFault else { return .ok("agent.toml is well-formed") }
            return .failed(fault, next: "mend agent.toml; an agent refuses to start with it")
        },
        Check(
            id: "config-policy", group: .configuration, about: "policy.toml is well-formed"
        ) { facts in
            if let fault = facts.policyFault {
                return .failed(fault, next: """
                    mend policy.toml: a running agent reads it again by itself, and keeps its \
                    old rules until then; none starts with it
                    """)
            }
            return .ok(facts.policy?.summary ?? "there is no policy.toml")
        },
        Check(
            id: "file-modes", group: .configuration,
            about: "nobody else may change the rules or read the state"
        ) { facts in
            guard !facts.modeFaults.isEmpty else { return .ok("as strict as they must be") }
            return .failed(
                facts.modeFaults.joined(separator: "; "),
                next: "set modes and owners as said; run doctor as root or as the agent's user")
        },
    ]
}
