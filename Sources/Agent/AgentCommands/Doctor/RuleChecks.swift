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
                + "default \(rules.shown("default"))"
                + (rules.text("restored").map { "; \($0)" } ?? ""))
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
            let file = settings.routes.first?.isRestored == true
                ? "restored/routes.toml" : "agent.toml"
            if let rules = facts.rulesInForce, rules.members["routes"] != .integer(Int64(count)) {
                return .failed(
                    "\(file) has \(count) routes, the agent reads \(rules.shown("routes"))",
                    next: "wait a moment, then send the agent SIGHUP")
            }
            return .ok(
                count == 0 ? "agent.toml has no routes" : "the routes of \(file): \(count)")
        },
        BoardCheck(
            id: "configuration-backup", group: .rules,
            about: "the authority has this board's policy and routes, if it is to keep them",
            why: "otherwise a board that replaces this one has no rules",
            needs: [.agent]
        ) { facts in
            let state = facts.status?.text("backup")
            guard facts.settings?.backsUpConfiguration == true else {
                return .ok("[backup] configuration is off"
                    + (state?.hasPrefix("off;") == true
                        ? ", and the authority's copy is not deleted yet" : ""))
            }
            switch state {
            case "too large":
                return .warning(
                    "the policy and the routes cannot be sent: more than 64 KiB, or a control "
                        + "character", next: "shorten them, or keep a copy yourself")
            case "not sent yet":
                return .warning(
                    "the authority does not have the present rules yet",
                    next: "wait a minute; the board needs its session and its uplink for that")
            case "sent": return .ok("the authority has the present rules")
            case "no rules": return .ok("there are no rules to keep")
            default: return .skipped("the agent has not said it")
            }
        },
    ]
}
