import AgentCore
import ArgumentParser
import LinuxIO
import Sessions
import Wire

/// `postern-agent status`: the board, its session, its uplink and its queue.
struct StatusCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show how the board is.")

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        var (isRunning, answer) = try BoardFiles(place).ask(.status)
        answer.members["running"] = .bool(isRunning)
        if !isRunning { answer.members["status"] = .string("down") }
        let isAvailable = answer.members["state"] == .string("available")
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
        } else {
            for line in Self.lines(answer, isRunning) { ProcessEnd.say(line, to: .output) }
        }
        guard isAvailable else { return .notProvisioned }
        return isRunning && answer.members["uplink"] == .string("connected") ? .ok : .offline
    }

    private static func lines(_ answer: JSONObject, _ isRunning: Bool) -> [String] {
        let queue = (try? answer.object("queue")) ?? JSONObject([:])
        let size = "\(queue.shown("messages")) messages, \(queue.shown("bytes")) bytes"
        let fault = answer.text("queueFault").map { "; NOT FORWARDED: \($0)" } ?? ""
        let rows: [(String, String)] = [
            ("board", answer.shown("name") + "  " + answer.shown("installationId")),
            ("agent", isRunning ? "running, version " + answer.shown("version") : "not running"),
            ("session", SessionCommand.sentence(answer)),
            ("authority", answer.shown("authority")),
            ("uplink", answer.shown("uplink")),
            ("queue", size + fault),
            ("refused", answer.shown("refused")),
            ("upstream", answer.shown("refusedUpstream") + " refused by the broker"),
            ("clock", answer.shown("clock")),
        ]
        return rows.map { name, text in
            name + String(repeating: " ", count: 11 - name.count) + text
        }
    }
}

/// `postern-agent session`: the session on this board, without its tokens.
struct SessionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "The session on this board.",
        subcommands: [SessionShowCommand.self], defaultSubcommand: SessionShowCommand.self)

    static func sentence(_ answer: JSONObject) -> String {
        guard answer.members["state"] == .string("available"),
            let session = try? answer.session("session")
        else { return "unavailable: " + answer.shown("reason") }
        let end = session.expiresAt.map { "until \(CalendarText.utc($0)) UTC" } ?? "without an end"
        return "\(session.objectID), available \(end)"
    }
}

struct SessionShowCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the session, without its tokens.")

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        let (_, answer) = try BoardFiles(place).ask(.session)
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
        } else {
            ProcessEnd.say("session    " + SessionCommand.sentence(answer), to: .output)
            if let user = try? answer.user("user") {
                ProcessEnd.say("user       \(user.username) (\(user.objectID))", to: .output)
            }
            ProcessEnd.say("authority  " + answer.shown("authority"), to: .output)
        }
        return answer.members["state"] == .string("available") ? .ok : .notProvisioned
    }
}

extension JSONObject {
    /// A member's text, where it is one.
    func text(_ name: String) -> String? {
        guard case .string(let text) = members[name] else { return nil }
        return text
    }

    /// A member as a person may see it: text bare, other values as JSON, nothing as a dash.
    func shown(_ name: String) -> String {
        switch members[name] {
        case .string(let text): text
        case .null, nil: "-"
        case .some(let value): value.text
        }
    }
}
