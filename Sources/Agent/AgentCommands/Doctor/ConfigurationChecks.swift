import Doctor
import Gate

typealias BoardCheck = Check<BoardFacts>

extension BoardCheck {
    /// All checks, in the order in which they are shown.
    static let all = configuration + agent + rules + bus + board + storage + uplink + versions

    static let configuration = [
        BoardCheck(
            id: "config-agent", group: .configuration, about: "agent.toml is well-formed",
            why: "an agent refuses to start with a malformed file"
        ) { facts in
            guard let fault = facts.agentFault else { return .ok("agent.toml is well-formed") }
            return .failed(fault, next: "correct agent.toml; an agent refuses to start with it")
        },
        BoardCheck(
            id: "config-policy", group: .configuration, about: "policy.toml is well-formed",
            why: "if it is malformed, the old rules stay in force, or the agent does not start"
        ) { facts in
            if let fault = facts.policyFault {
                return .failed(fault, next: """
                    correct policy.toml: a running agent reads it again by itself, and keeps its \
                    old rules until then; an agent refuses to start with it
                    """)
            }
            return .ok(facts.policy?.summary
                ?? "there is no policy.toml: the built-in rules and the session's scope decide")
        },
        BoardCheck(
            id: "file-modes", group: .configuration,
            about: "nobody else may change the rules or read the state",
            why: "a user who writes these files decides what leaves the board; one who reads the "
                + "state can pose as the board"
        ) { facts in
            guard !facts.modeFaults.isEmpty else {
                return .ok("no other user can change the rules or read the state")
            }
            return .failed(
                facts.modeFaults.joined(separator: "; "),
                next: """
                    set modes and owners as shown (in /etc/postern: owner root, group postern, \
                    mode 0640); run doctor as root or as the agent's user
                    """)
        },
    ]
}
