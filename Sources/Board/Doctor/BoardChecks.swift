import Gate
import Sessions
import Settings
import Wire

extension Check {
    static let agent = [
        Check(id: "agent-running", group: .agent, about: "the agent runs and answers") { facts in
            if let fault = facts.askingFault {
                return .failed(fault, next: "look at the agent's journal")
            }
            guard !facts.isRunning else { return .ok("it answers") }
            return facts.settings == nil
                ? .skipped("agent.toml cannot be read")
                : .failed("it does not run", next: "start it: postern-agent run, or its unit")
        },
    ]

    static let board = [
        Check(id: "clock", group: .board, about: "the board knows what time it is") { facts in
            guard let clock = facts.status?.text("clock") else { return unknown }
            guard clock == "set" else {
                return .failed(
                    "this board's clock is not set: sessions are judged by no time",
                    next: "set it, by NTP if you can; the authority tells it at the next contact")
            }
            return .ok("set")
        },
        Check(id: "session", group: .board, about: "the board has a session that lasts") { facts in
            guard let status = facts.status else { return unknown }
            guard status.text("state") == "available" else {
                let isOffline = status.text("reason") == "offline"
                return .failed(
                    SessionCommand.sentence(status),
                    next: isOffline
                        ? "bring the board into contact with its authority"
                        : "run `postern-agent pair` and claim this board")
            }
            let end = (try? status.session("session"))?.expiresAt
            if let end, end < facts.now + .seconds(86_400) {
                return .warning(
                    "it ends within a day: " + SessionCommand.sentence(status),
                    next: "run `postern-agent session refresh --for 30d`, or claim it again then")
            }
            return .ok(SessionCommand.sentence(status))
        },
        Check(id: "queue", group: .board, about: "what waits to be sent has room") { facts in
            guard let status = facts.status, let queue = try? status.object("queue"),
                let bytes = try? queue.integer("bytes"),
                let limit = facts.settings?.outbox.maxBytes.bytes
            else { return unknown }
            if let fault = status.text("queueFault") {
                return .failed(
                    "nothing is forwarded: \(fault)",
                    next: "look at the disk, then start the agent anew")
            }
            let text = "\(queue.shown("messages")) messages, \(bytes) of \(limit) bytes"
            guard bytes < limit / 5 * 4 else {
                return .warning(
                    text, next: "bring the uplink back, or raise outbox.max_bytes")
            }
            return .ok(text)
        },
    ]

    static let unknown = Finding.skipped("this board's state was not to be had")
}
