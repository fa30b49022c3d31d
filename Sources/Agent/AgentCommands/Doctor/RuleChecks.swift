import ConfigurationFiles
import Doctor
import Gate
import Sessions
import Wire

extension BoardCheck {
    static let rules = [
        BoardCheck(
            id: "policy-in-force", group: .rules,
            about: "the running agent's rules are those of the files",
            why: "otherwise the agent decides by other rules than the files show",
            needs: [.agent]
        ) { facts in
            if facts.status?.members["policyLost"] == .bool(true) {
                return .failed(
                    "policy.toml was in force and is gone: every write is refused", next: """
                        put policy.toml back; or, if the board needs none, run \
                        `postern-agent policy accept-none`
                        """)
            }
            guard let rules = facts.rulesInForce else { return .skipped("the agent does not run") }
            if let fault = rules.text("fault") {
                return .failed(
                    "the files are not in force: \(fault)",
                    next: "correct the file, or put it back; the agent reads it again by itself")
            }
            guard facts.digest != nil, rules.text("digest") == facts.digest else {
                return .failed(
                    "the agent has not read the present files",
                    next: "wait a moment, then send the agent SIGHUP")
            }
            let waiting = (rules.members["waiting"]?.asArray ?? []).compactMap(\.asString)
            guard waiting.isEmpty else {
                return .warning(
                    "not in force yet: \(waiting.joined(separator: ", "))",
                    next: "restart the agent: while it runs, only routes of agent.toml change")
            }
            return .ok("the agent decides by these files: rules \(rules.shown("rules")), "
                + "default \(rules.shown("default"))")
        },
        BoardCheck(
            id: "routes", group: .rules,
            about: "the running agent reads the routes of agent.toml",
            why: "the agent does not read a foreign topic without its route",
            needs: [.agent]
        ) { facts in
            guard let settings = facts.settings else {
                return .skipped("agent.toml cannot be read")
            }
            let count = settings.routes.count
            if let rules = facts.rulesInForce, rules.members["routes"] != .integer(Int64(count)) {
                return .failed(
                    "agent.toml has \(count) routes, the agent reads \(rules.shown("routes"))",
                    next: "wait a moment, then send the agent SIGHUP")
            }
            return .ok(
                count == 0 ? "agent.toml has no routes" : "the routes of agent.toml: \(count)")
        },
    ]
}
