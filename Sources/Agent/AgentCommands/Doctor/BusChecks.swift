import ConfigurationFiles
import Doctor
import Wire

extension BoardCheck {
    static let bus = [
        BoardCheck(
            id: "local-broker", group: .bus,
            about: "the board's own broker lets the agent in, and nobody without a login",
            why: "without it no program is heard; with everybody let in, any can speak for any",
            needs: [.bus]
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
            guard facts.anonymousBus?.isLetIn != true else {
                return .warning(
                    "\(uri) lets anybody in: one program can speak for another",
                    next: """
                        give the programs and the agent a login each, and say \
                        `allow_anonymous false` in the broker's configuration
                        """)
            }
            return .ok("\(uri) lets the agent in, and nobody without a login")
        },
        BoardCheck(
            id: "bus-queue", group: .bus,
            about: "the board's own broker has dropped nothing",
            why: "what it drops was never accepted, and no program is told", needs: [.agent]
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
        BoardCheck(
            id: "bus-acl", group: .bus,
            about: "it lets the agent do its work, and nobody without a login pose as a program",
            why: "a program's name in a topic is proven by this list and by nothing else",
            needs: [.bus]
        ) { facts in
            guard let rights = facts.busLogin?.rights else {
                return .skipped("the broker does not let the agent in")
            }
            let refused = rights.unsubscribable.map { "read \($0)" }
                + rights.unwritable.map { _ in "write postern/#" }
            guard refused.isEmpty else {
                return .failed(
                    "the agent's login may not " + refused.joined(separator: ", "),
                    next: """
                        compare the broker's access list with the one shipped: \
                        /usr/share/doc/postern-agent/examples, or Devices/linux-generic/acl
                        """)
            }
            if let stranger = facts.anonymousBus?.rights, stranger.unwritable.isEmpty,
                !stranger.isSilent
            {
                return .warning(
                    "whoever has no login may write under any program's name",
                    next: """
                        say `allow_anonymous false`, and let each program write only \
                        `pattern write postern/app/%u/#`
                        """)
            }
            return .ok("the agent may read and write what it must")
        },
    ]
}
