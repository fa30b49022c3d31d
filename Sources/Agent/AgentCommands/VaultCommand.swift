import AgentCore
import AgentService
import AgentStore
import ArgumentParser
import LinuxIO
import Sessions
import Wire

/// `postern-agent vault`: shows what keeps the storage key, and makes a new key.
struct VaultCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault", abstract: "Show or replace the key to this board's state.",
        subcommands: [VaultShowCommand.self, VaultRekeyCommand.self],
        defaultSubcommand: VaultShowCommand.self)
}

struct VaultShowCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show where the storage key is kept, and where it could be.",
        discussion: "Asks each key source whether it is available. Changes nothing.")

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        let (_, answer) = try BoardFiles.askAnyhow(place, .vault)
        guard answer.text("source") != nil else {
            throw AgentFailure(.failed, "the agent's answer cannot be read")
        }
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
        } else {
            for line in Self.lines(answer) { ProcessEnd.say(line, to: .output) }
        }
        return .ok
    }

    static func lines(_ answer: JSONObject) -> [String] {
        let isBound = answer.members["bound"] == .bool(true)
        var lines = [
            "source     " + answer.shown("source") + (isBound ? "" : ", NOT BOUND to this board"),
            "name       " + answer.shown("name"),
            "protects   " + answer.shown("protects"),
        ]
        let better = (answer.members["better"]?.asArray ?? []).compactMap(\.asString)
        if let best = better.first {
            lines.append("better     \(better.joined(separator: ", ")): run `postern-agent vault "
                + "rekey --to \(best)`")
        }
        let unavailable = (try? answer.object("unavailable")) ?? JSONObject([:])
        for name in unavailable.members.keys.sorted() {
            lines.append("not here   \(name): \(unavailable.shown(name))")
        }
        return lines
    }
}

struct VaultRekeyCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "rekey", abstract: "Make a new storage key, in the same or another source.",
        discussion: """
            The session, the claim and the outbox stay. The old key is destroyed, but older \
            copies of the state folder still open with a copy of that key. Without --to, the \
            source is the one that [key] in agent.toml names. Works whether or not the agent \
            runs.
            """)

    @OptionGroup var place: BoardPlace

    @Option(help: ArgumentHelp(
        "Where to keep the new key: \(KeyTier.choices.joined(separator: ", ")).",
        valueName: "source"))
    var to: String?

    func perform() throws(AgentFailure) -> ExitStatus {
        if let to, !KeyTier.choices.contains(to) {
            throw AgentFailure(
                .usage, "--to must be one of \(KeyTier.choices.joined(separator: ", "))")
        }
        let (_, answer) = try BoardFiles.askAnyhow(place, .rekey(to: to))
        guard answer.text("result") == "done" else {
            throw AgentFailure(
                .failed, answer.text("reason") ?? "the agent's answer cannot be read")
        }
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
        } else {
            let isBound = answer.members["bound"] == .bool(true)
            ProcessEnd.say(
                "✓ \(answer.shown("name")) keeps the new storage key"
                    + (isBound ? "" : ", not bound to this board"), to: .output)
        }
        return .ok
    }
}
