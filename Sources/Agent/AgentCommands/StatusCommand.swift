import AgentCore
import AgentService
import ArgumentParser
import ConfigurationFiles
import LinuxIO
import Sessions
import Wire

/// `postern-agent status`: the board, its session, its uplink and its queue.
struct StatusCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the state of the board.")

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        var (isRunning, answer) = try BoardFiles.askAnyhow(place, .status)
        answer.members["running"] = .bool(isRunning)
        answer.members["claimFile"] = claimFile.map(JSONValue.string) ?? .null
        if !isRunning { answer.members["status"] = .string("down") }
        let isAvailable = answer.members["state"] == .string("available")
        if place.json {
            ProcessEnd.say(JSONValue.object(answer.members).text, to: .output)
        } else {
            for line in Self.lines(answer, isRunning) { ProcessEnd.say(line, to: .output) }
        }
        guard isAvailable else { return .notProvisioned }
        guard isRunning, answer.text("uplink")?.hasPrefix("connected") == true else {
            return .offline
        }
        let isOld = (try? answer.object("policy"))?.text("fault") != nil
        let isDegraded = answer.members["degraded"] == .bool(true)
        let isHeld = answer.text("hold") != nil
        return isOld || isDegraded || isHeld ? .degraded : .ok
    }

    private static func lines(_ answer: JSONObject, _ isRunning: Bool) -> [String] {
        let queue = (try? answer.object("queue")) ?? JSONObject([:])
        let oldest = QueueText.oldest(queue).map { ", the oldest of \($0)" } ?? ""
        let lasts = QueueText.lasts(queue).map { "; lasts \($0)" } ?? ""
        let lost = [
            QueueText.losses(answer), QueueText.dead(answer), busDrops(answer),
        ].compactMap(\.self)
        let fault = answer.text("queueFault").map { "; NOT FORWARDED: \($0)" } ?? ""
        let note = answer.text("uplinkNote").map { ", \($0)" } ?? ""
        let rows: [(String, String)] = [
            ("board", answer.shown("name") + "  " + answer.shown("installationId")),
            ("agent", isRunning ? "running, version " + answer.shown("version") : "not running"),
            ("session", SessionCommand.sentence(answer)),
            ("ends", SessionCommand.ends(answer) ?? "-"),
            ("claim", answer.text("claimFile").map { "\($0) is still there: see doctor" } ?? "-"),
            ("authority", answer.shown("authority")),
            ("uplink", answer.shown("uplink") + note),
            ("queue", QueueText.size(queue) + oldest + lasts + fault),
            ("lost", lost.isEmpty ? "nothing" : lost.joined(separator: "; ")),
            ("rules", Self.rules(answer)),
            ("refused", Self.refusals(answer)),
            ("upstream", QueueText.upstream(answer)),
            ("clock", answer.shown("clock")),
            ("key", Self.key(answer)),
        ]
        return rows.filter { $0 != ("claim", "-") }.map { name, text in
            name + String(repeating: " ", count: 11 - name.count) + text
        }
    }

    /// A prepared claim's file that was not erased. The agent's sandbox hides some places.
    private var claimFile: String? {
        let content = try? RuleContent(
            folder: place.configDir, withoutPolicy: true, strictestMode: 0o777)
        return ClaimFile.places(
            configDir: place.configDir, stateDir: (try? content?.settings())?.stateDir
        ).first(where: \.isThere)?.path
    }

    /// The row about the storage key.
    private static func key(_ answer: JSONObject) -> String {
        guard let key = try? answer.object("key") else { return "-" }
        let isBound = key.members["bound"] == .bool(true)
        return "\(key.shown("source")), \(key.shown("name"))"
            + (isBound ? "" : ", NOT BOUND to this board")
    }

    /// The number of messages that the local broker dropped; nil if none.
    private static func busDrops(_ answer: JSONObject) -> String? {
        let drops = (try? answer.object("bus")).flatMap { try? $0.integer("dropped") } ?? 0
        return drops > 0 ? "the local broker dropped \(drops) messages" : nil
    }

    /// The refusals since the agent's start, with the three apps and rules that have most.
    private static func refusals(_ answer: JSONObject) -> String {
        let all = answer.members["refusals"]?.asArray ?? []
        let most = all.prefix(3).compactMap { entry in
            entry.asObject.flatMap { try? RefusalCount(json: JSONObject($0)) }
        }
        let named = most.map { count in
            count.app == "*" && count.rule == "*"
                ? "others \(count.count)" : "\(count.app) \(count.count) by \(count.rule)"
        }
        let more = all.count - most.count
        return answer.shown("refused") + " since the agent's start"
            + (named.isEmpty ? "" : ": " + named.joined(separator: ", "))
            + (more > 0 ? ", and \(more) more in --json" : "")
    }

    /// The rules in force, and why the present files are not in force.
    private static func rules(_ answer: JSONObject) -> String {
        if answer.members["policyLost"] == .bool(true) {
            return "THE POLICY FILE IS GONE, EVERY WRITE IS REFUSED: put it back, or run "
                + "`postern-agent policy accept-none`"
        }
        guard let rules = try? answer.object("policy") else { return "-" }
        let since = (try? rules.time("loadedAt")).map { ", since \(CalendarText.utc($0)) UTC" }
        let restored = rules.text("restored").map { "; \($0)" }
        let fault = rules.text("fault").map { "; THE FILES ARE NOT IN FORCE: \($0)" }
        return rules.shown("rules") + ", by default " + rules.shown("default") + "; "
            + rules.shown("routes") + " routes" + (since ?? "") + (restored ?? "") + (fault ?? "")
    }
}

extension JSONObject {
    /// A member's text; nil if it is not text.
    func text(_ name: String) -> String? {
        guard case .string(let text) = members[name] else { return nil }
        return text
    }

    /// A member for people: text without quotes, other values as JSON, nothing as a dash.
    func shown(_ name: String) -> String {
        switch members[name] {
        case .string(let text): text
        case .null, nil: "-"
        case .some(let value): value.text
        }
    }
}
