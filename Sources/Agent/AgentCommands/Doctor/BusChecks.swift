import ConfigurationFiles
import Doctor
import Wire

extension BoardCheck {
    static let bus = [
        BoardCheck(
            id: "local-broker", group: .bus,
            about: "the board's own broker lets the agent in, and nobody without a login",
            why: "without it no app is heard; if it lets everybody in, one app can pose as another",
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
            case nil: return .skipped("not tried")
            }
            guard facts.anonymousBus?.isLetIn != true else {
                return .warning(
                    "\(uri) lets anybody in: one app can pose as another",
                    next: """
                        give each app and the agent a login, and set \
                        `allow_anonymous false` in the broker's configuration
                        """)
            }
            return .ok("\(uri) lets the agent in, and nobody without a login")
        },
        BoardCheck(
            id: "bus-queue", group: .bus,
            about: "the board's own broker has dropped nothing",
            why: "a dropped message was not accepted, and its app gets no answer", needs: [.agent]
        ) { facts in
            guard facts.isRunning else { return .skipped("the agent does not run") }
            guard let bus = try? facts.status?.object("bus"),
                let dropped = try? bus.integer("dropped")
            else {
                return .skipped("the broker does not report it, or denies $SYS to the agent")
            }
            guard dropped > 0 else { return .ok("the broker has dropped no message") }
            return .warning(
                "the broker has dropped \(dropped) messages since its start, for all its clients",
                next: """
                    raise max_queued_messages and max_queued_bytes in its configuration, or \
                    find why the outbox is full: `postern-agent status`
                    """)
        },
        BoardCheck(
            id: "bus-acl", group: .bus,
            about: "its access list lets the agent work, and nobody without a login pose as an app",
            why: "only this list proves that the app's name in a topic is true",
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
                    "a client without a login may write under any app's name",
                    next: """
                        set `allow_anonymous false`, and let each app write only \
                        `pattern write postern/app/%u/#`
                        """)
            }
            return .ok("the agent may read and write what it needs")
        },
    ]
}
