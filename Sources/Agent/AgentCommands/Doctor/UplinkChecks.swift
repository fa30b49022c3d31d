import AgentService
import Doctor
import Sessions
import Wire

extension BoardCheck {
    static let uplink = BoardCheck.reach(
        to: "the upstream broker", group: .uplink, needs: [.reach], named: "agent.toml, [uplink]",
        untried: { _ in "see config-agent" }
    ) { $0.reach } + [
        BoardCheck(
            id: "broker-login", group: .uplink, about: "the upstream broker knows this board",
            why: "without a login the board cannot send, and does not learn of its session's end",
            needs: [.agent, .login]
        ) { UplinkJudgement.login($0) },
        BoardCheck(
            id: "topics-allowed", group: .uplink,
            about: "the upstream broker lets this board use its topics",
            why: "refused messages stay in the queue, and requests do not reach the authority",
            needs: [.agent, .login]
        ) { UplinkJudgement.topics($0) },
        BoardCheck(
            id: "uplink", group: .uplink, about: "the agent is connected to the upstream broker",
            why: "until then writes wait, and the board does not learn of its session's end",
            needs: [.agent]
        ) { UplinkJudgement.connection($0) },
    ]

    static let versions = [
        BoardCheck(
            id: "libmosquitto", group: .versions,
            about: "the linked MQTT library survives malformed packets",
            why: "a malformed packet may end the connection, but must not end the agent"
        ) { facts in
            guard facts.mosquittoAborts else {
                return .ok("\(facts.mosquittoVersion): no malformed packet ends the agent")
            }
            return .note("""
                \(facts.mosquittoVersion): a broker can end the agent with a malformed packet; \
                the agent starts again and loses nothing. Only 2.0.16 or later changes that
                """)
        },
        BoardCheck(
            id: "versions", group: .versions, about: "the running agent has this program's version",
            why: "an upgrade takes effect when the agent restarts", needs: [.agent]
        ) { facts in
            let list = facts.versions.map { "\($0) \($1)" }.joined(separator: ", ")
            guard facts.isRunning, let running = facts.status?.text("version"),
                let own = facts.versions.first?.1, running != own
            else { return .ok(list) }
            return .warning(
                "the running agent is \(running), this program \(own)",
                next: "restart the agent")
        },
    ]
}

extension BoardFacts {
    /// Why this board has no login at the broker as yet; nil if it should have one.
    fileprivate var isWithoutLogin: String? {
        guard let status, status.text("state") == "unavailable" else { return nil }
        if uplinkText?.hasPrefix("connected") == true { return nil }
        switch status.text("reason") {
        case "unclaimed": return "nobody has claimed this board yet, so no broker knows it"
        case "offline", nil: return nil
        default: return "the session has ended, and its login with it; see session"
        }
    }
}

/// Decides the uplink checks, from the agent's status or from a login that doctor tried.
enum UplinkJudgement {
    private static let loginLayer = "broker login: "
    /// The agent's text about a refused SUBACK; see `UplinkLink`.
    private static let inboxRefused = loginLayer + "the inbox may not be subscribed"

    static func login(_ facts: BoardFacts) -> Finding {
        let next = """
            let the authority update its broker access (it does so at its start), or claim this \
            board again: `postern-agent pair --new`
            """
        if let why = facts.isWithoutLogin { return .skipped(why) }
        if let text = facts.uplinkText {
            if text.hasPrefix("connected") { return .ok("the broker has let the agent in") }
            if text == inboxRefused { return .ok("the broker lets it in") }
            guard text.hasPrefix(loginLayer) else { return .skipped(text) }
            return .failed(text, next: next)
        }
        switch facts.uplinkLogin {
        case .letIn: return .ok("the broker lets this board in")
        case .refused(let text): return .failed(text, next: next)
        case .unreachable(let text): return .failed(text, next: "see the checks above")
        case nil: return .skipped("the agent does not run, and there is no login to try")
        }
    }

    static func topics(_ facts: BoardFacts) -> Finding {
        let next = """
            let the authority update its broker access (it does so at its start), or compare the \
            broker's access list with Provisioning/broker
            """
        if let text = facts.uplinkText {
            if text == inboxRefused { return .failed(text, next: next) }
            guard text.hasPrefix("connected") else { return .skipped("the agent is not connected") }
            if facts.status?.text("hold") != nil { return .failed(text, next: next) }
            return .ok("the inbox is subscribed, and nothing is held back")
        }
        guard let rights = facts.uplinkLogin?.rights else {
            return .skipped("the agent does not run, and no login was tried")
        }
        guard rights.unsubscribable.isEmpty else {
            return .failed("the inbox may not be subscribed", next: next)
        }
        return .ok("the inbox may be subscribed; publishing is checked only while the agent runs")
    }

    /// Fails only if no earlier check does, so that each fault is reported by one check.
    static func connection(_ facts: BoardFacts) -> Finding {
        guard facts.isRunning, let status = facts.status else {
            return .skipped("the agent does not run")
        }
        guard let text = status.text("uplink") else { return BoardCheck.unknown(facts) }
        guard text.hasPrefix("connected") else {
            if status.members["identityShared"] == .bool(true) {
                return .skipped("\(text); see identity")
            }
            if let check = facts.reach?.broken { return .skipped("\(text); see \(check)") }
            if let why = facts.isWithoutLogin { return .skipped(why) }
            if text == inboxRefused { return .skipped("\(text); see topics-allowed") }
            if text.hasPrefix(loginLayer) { return .skipped("\(text); see broker-login") }
            return .failed(text, next: "check the named layer, from this board to the broker")
        }
        if status.text("hold") != nil { return .skipped("\(text); see topics-allowed") }
        if let note = status.text("uplinkNote") {
            return .warning(note, next: "use an upstream broker that speaks MQTT 5")
        }
        return .ok("the agent is \(text)")
    }
}
