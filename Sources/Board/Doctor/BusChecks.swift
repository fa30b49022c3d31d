import Settings
import Wire

extension Check {
    static let bus = [
        Check(
            id: "local-broker", group: .bus,
            about: "the board's own broker lets the agent in, and nobody without a login"
        ) { facts in
            guard let uri = facts.settings?.bus.uri else {
                return .skipped("agent.toml cannot be read")
            }
            switch facts.busLogin {
            case .letIn: break
            case .refused(let text):
                return .failed(
                    "\(uri) refuses the agent's login: \(text)",
                    next: "look at bus.username and bus.password_file, and the broker's users")
            case .unreachable(let text):
                return .failed(
                    "\(uri): \(text)", next: "start the board's broker, or look at bus.uri")
            case nil: return .skipped("nobody asked")
            }
            guard facts.anonymousBus != .letIn else {
                return .warning(
                    "\(uri) lets anybody in: one program can speak for another",
                    next: """
                        give the programs and the agent a login each, and say \
                        `allow_anonymous false` in the broker's configuration
                        """)
            }
            return .ok("\(uri) lets the agent in, and nobody without a login")
        },
        Check(
            id: "bus-queue", group: .bus,
            about: "the board's own broker has dropped nothing"
        ) { facts in
            guard facts.isRunning else { return .skipped("the agent does not run") }
            guard let bus = try? facts.status?.object("bus"),
                let dropped = try? bus.integer("dropped")
            else {
                return .skipped("the broker does not say, or its ACL keeps $SYS from the agent")
            }
            guard dropped > 0 else { return .ok("the broker has dropped nothing") }
            return .warning(
                "the broker has dropped \(dropped) messages since its start, for all its clients",
                next: """
                    raise max_queued_messages and max_queued_bytes in its configuration, or \
                    find why the outbox is full: `postern-agent status`
                    """)
        },
    ]
}
