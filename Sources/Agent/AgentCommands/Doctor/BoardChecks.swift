import AgentCore
import AgentService
import ConfigurationFiles
import Doctor
import Gate
import Sessions
import Wire

extension BoardCheck {
    static let agent = [
        BoardCheck(
            id: "agent-running", group: .agent, about: "the agent runs and answers",
            why: "while it does not, nothing is accepted or forwarded", needs: [.agent]
        ) { facts in
            if let fault = facts.askingFault {
                return .failed(fault, next: "look at the agent's log")
            }
            guard !facts.isRunning else { return .ok("the agent answers") }
            return facts.settings == nil
                ? .skipped("agent.toml cannot be read")
                : .failed("the agent does not run", next: """
                    start it: `sudo systemctl start postern-agent`, or `postern-agent run`
                    """)
        },
    ]

    static let board = [
        BoardCheck(
            id: "clock", group: .board, about: "the board's clock is set",
            why: "sessions and certificates are checked by it", needs: [.agent]
        ) { facts in
            guard let clock = facts.status?.text("clock") else { return unknown(facts) }
            guard clock == "set" else {
                return .failed(
                    "this board's clock is not set: a session's end cannot be checked",
                    next: "set it, with NTP if possible; the authority also sends the time")
            }
            return .ok("the clock is set")
        },
        BoardCheck(
            id: "session", group: .board, about: "the board has a session that does not end soon",
            why: "without one every write is rejected, or waits", needs: [.agent]
        ) { SessionJudgement.session($0) },
        BoardCheck(
            id: "claim-file", group: .board, about: "no file of a prepared claim is left",
            why: "a copy of it may bring another board in place of this one", needs: [.agent]
        ) { SessionJudgement.claimFile($0) },
        BoardCheck(
            id: "issued", group: .board, about: "the authority knows this board's tokens",
            why: "an authority restored from a backup may not; the board keeps all",
            needs: [.agent]
        ) { facts in
            guard let status = facts.status else { return unknown(facts) }
            guard status.text("reason") != "unclaimed" else {
                return .skipped("nobody has claimed this board yet")
            }
            guard status.members["notIssuedThere"] == .bool(true) else {
                return .ok("the authority knows them")
            }
            return .warning(
                "the authority reports that it did not issue this board's tokens",
                next: "run `postern-agent pair --new`, and claim as the same user: "
                        + "the queue is kept")
        },
        BoardCheck(
            id: "identity", group: .board, about: "no other machine uses this board's identity",
            why: "two machines with one identity disconnect each other, and share one session",
            needs: [.agent]
        ) { facts in
            guard facts.isRunning, let status = facts.status else {
                return .skipped("the agent does not run")
            }
            let next = "stop the copied agent, then run `postern-agent pair --new` here"
            if status.members["identityShared"] == .bool(true) {
                return .failed("another machine uses this board's identity", next: next)
            }
            guard status.members["busShared"] == .bool(true) else { return .ok("none is seen") }
            return .failed(
                "another agent with this board's identity is on the board's own bus", next: next)
        },
        BoardCheck(
            id: "session-outlasts", group: .board,
            about: "the session survives an outage of some hours",
            why: "after a longer outage the session ends, and a person must claim the board again",
            needs: [.agent]
        ) { SessionJudgement.grace($0) },
        BoardCheck(
            id: "queue", group: .board, about: "the queue has room",
            why: "when it is full, writes are refused, or the oldest are dropped",
            needs: [.agent]
        ) { facts in
            guard let status = facts.status, let queue = try? status.object("queue"),
                let bytes = try? queue.integer("bytes"),
                let limit = facts.settings?.outbox.maxBytes.bytes
            else { return unknown(facts) }
            if let fault = status.text("queueFault") {
                return .failed(
                    "nothing is forwarded: \(fault)",
                    next: "check the disk, then restart the agent")
            }
            let text = "messages waiting: \(queue.shown("messages")), in "
                + "\(DiskSize.text(bytes)) of \(DiskSize.text(limit))"
            guard bytes < limit / 5 * 4 else {
                return .warning(
                    text, next: "restore the uplink, or raise outbox.max_bytes")
            }
            return .ok(text)
        },
    ]

    /// Why the board's state is not known.
    static func unknown(_ facts: BoardFacts) -> Finding {
        if facts.settings == nil { return .skipped("see config-agent") }
        if facts.askingFault != nil { return .skipped("see agent-running") }
        if facts.vaultFault != nil { return .skipped("see vault") }
        if facts.policyFault != nil { return .skipped("see config-policy") }
        if !facts.modeFaults.isEmpty { return .skipped("see file-modes") }
        return .skipped(
            facts.status == nil ? "the agent has not run on this board yet"
                : "the agent does not report it")
    }
}

/// The checks of the board's session.
enum SessionJudgement {
    /// The outage that the board must survive without a person: about a night.
    private static let outage = Duration.seconds(6 * 3600)

    static func session(_ facts: BoardFacts) -> Finding {
        guard let status = facts.status else { return BoardCheck.unknown(facts) }
        guard status.text("state") == "available" else {
            if let asking = SessionCommand.asking(status) {
                return .failed(
                    "this board " + asking, next: SessionCommand.nextOfAsking(status))
            }
            let sentence = SessionCommand.sentence(status)
            switch status.text("reason") {
            case "unreadable": return .skipped("\(sentence); see vault")
            case "unclaimed":
                return .failed("nobody has claimed this board yet", next: """
                    run `postern-agent pair`, and scan its code or give it to `postern claim`
                    """)
            case "offline":
                return .failed(sentence, next: "connect the board to its authority")
            case let reason:
                let end = reason.flatMap(SessionEnd.init(rawValue:)) ?? .revoked
                return .failed("the session has ended (\(end.rawValue))", next: end.help)
            }
        }
        let end = (try? status.session("session"))?.expiresAt
        if let end, end < facts.now + .seconds(86_400) {
            return .warning(
                "it ends within a day: " + SessionCommand.sentence(status),
                next: "run `postern-agent session refresh --for 30d`, or claim it again afterwards")
        }
        return .ok("session " + SessionCommand.sentence(status))
    }

    static func claimFile(_ facts: BoardFacts) -> Finding {
        guard let path = facts.claimFile else { return .ok("there is none") }
        if facts.status?.text("state") == "available" {
            return .warning(
                "\(path) is still there", next: "remove it: this board has a session")
        }
        if path == facts.settings.map({ ClaimFile.inState($0.stateDir).path }) {
            return .warning("\(path) was not taken", next: """
                restart the agent; if it is still there, its log says why: remove the file, and \
                prepare another claim
                """)
        }
        return .warning("\(path) was not taken, or not erased", next: """
            run `sudo postern-agent join`, then restart the agent; its log says what is wrong
            """)
    }

    static func grace(_ facts: BoardFacts) -> Finding {
        guard let status = facts.status, status.text("state") == "available",
            let contact = try? status.time("validatedAt"),
            let end = try? status.time("offlineUntil")
        else { return .skipped("there is no session in use") }
        let seconds = (end - contact).components.seconds
        let text = seconds >= 2 * 86_400 ? "\(seconds / 86_400) days"
            : seconds >= 2 * 3600 ? "\(seconds / 3600) hours" : "\(seconds / 60) minutes"
        guard end - contact < outage else {
            return .ok("it survives an outage of \(text)")
        }
        return .warning(
            "after an outage of more than \(text) a person must claim the board again",
            next: """
                give this board a session of another preset (authority.toml, [session]), or a \
                longer session.offline in agent.toml
                """)
    }
}
