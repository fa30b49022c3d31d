import AgentStore
import Doctor
import Sessions
import Wire

extension BoardCheck {
    static let storage = [
        BoardCheck(
            id: "vault", group: .storage, about: "the vault opens and holds this board's identity",
            why: "with its identity a board loses its session and what waits to be sent",
            needs: [.agent]
        ) { facts in
            let next = "look at the disk; bring the state folder back from a copy, or see the "
                + "agent's journal for what it has recovered"
            if facts.disk?.isReadOnly == true { return .skipped("see disk-health") }
            if let fault = facts.vaultFault {
                return .failed(fault, next: facts.vaultIsOfKey ? """
                    what keeps the key is not what it was: Devices/KEYS.md, "When it does not open"
                    """ : next)
            }
            guard let status = facts.status else { return unknown }
            if status.text("reason") == "unreadable" {
                return .failed("the session's record cannot be read", next: """
                    look at the disk, then run `postern-agent pair` and claim this board again
                    """)
            }
            guard let board = status.text("installationId") else { return unknown }
            return .ok("it is \(board)")
        },
        BoardCheck(
            id: "key-source", group: .storage, about: "the vault's key is bound to this machine",
            why: "whoever copies a card with the key on it has the board's session",
            needs: [.agent, .key]
        ) { facts in
            guard let key = try? facts.status?.object("key"), let source = key.text("source")
            else { return .skipped("it is not known where the key is from") }
            let name = key.text("name").map { " (\($0))" } ?? ""
            let rekey = "run `postern-agent vault rekey`: the session is kept"
            guard key.members["bound"] != .bool(false) else {
                return .warning("\(source)\(name), good on any machine", next: rekey)
            }
            let better = (key.members["better"]?.asArray ?? []).compactMap(\.asString)
            guard better.isEmpty else {
                return .warning(
                    "\(source)\(name), where \(better.joined(separator: ", ")) is to be had",
                    next: rekey)
            }
            return .ok(source + name)
        },
    ] + BoardCheck.disk(
        needs: [.disk], makeRoom: "make room, or lower outbox.max_bytes"
    ) { $0.disk }
}
