import AgentStore
import Doctor
import Sessions
import Wire

extension BoardCheck {
    static let storage = [
        BoardCheck(
            id: "vault", group: .storage, about: "the vault opens and holds this board's identity",
            why: "a board that loses its identity loses its session and its queue",
            needs: [.agent]
        ) { facts in
            let next = "check the disk; restore the state folder from a copy, or see the "
                + "agent's log for what it has recovered"
            if facts.disk?.isReadOnly == true { return .skipped("see disk-health") }
            if let fault = facts.vaultFault {
                return .failed(fault, next: facts.vaultIsOfKey ? """
                    the key source has changed: see Devices/KEYS.md, "When it does not open"
                    """ : next)
            }
            guard let status = facts.status else { return unknown(facts) }
            if status.text("reason") == "unreadable" {
                return .failed("the session's record cannot be read", next: """
                    check the disk, then run `postern-agent pair` and claim this board again
                    """)
            }
            guard let board = status.text("installationId") else { return unknown(facts) }
            return .ok("the vault opens; this board's installation id is \(board)")
        },
        BoardCheck(
            id: "key-source", group: .storage, about: "the vault's key is bound to this machine",
            why: "a copy of a card that holds the key has the board's session",
            needs: [.agent, .key]
        ) { facts in
            guard let key = try? facts.status?.object("key"), let source = key.text("source")
            else { return unknown(facts) }
            let name = key.text("name").map { " (\($0))" } ?? ""
            let rekey = "run `postern-agent vault rekey`: the session is kept"
            guard key.members["bound"] != .bool(false) else {
                return .warning(
                    "a copy of the state folder opens on any machine: \(source)\(name)",
                    next: rekey)
            }
            let better = (key.members["better"]?.asArray ?? []).compactMap(\.asString)
            guard better.isEmpty else {
                return .warning(
                    "\(source)\(name), while \(better.joined(separator: ", ")) is available",
                    next: rekey)
            }
            return .ok("the vault opens only on this machine: \(source)\(name)")
        },
    ] + BoardCheck.disk(
        needs: [.disk], makeRoom: "free some space, or lower outbox.max_bytes"
    ) { $0.disk }
}
