import AgentCore
import AgentService
import ArgumentParser
import Gate
import LinuxIO
import Sessions
import Wire

/// `postern-agent policy explain`: shows how one decision is made, layer by layer.
struct PolicyExplainCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Show whether a write would pass, and which rule decides.",
        discussion: """
            Without --payload the payload is empty. The scope is the session's unless --scope \
            gives one. Rates are shown, not counted. Exit status: 0 for any decision.
            """)

    @OptionGroup var place: BoardPlace
    @OptionGroup var source: PolicySource

    @Argument(help: "The app's name.")
    var app: String?

    @Argument(help: "create, update, delete, or command, which has no class.")
    var op: String?

    @Argument(help: "The class.")
    var className: String?

    @Option(help: ArgumentHelp(
        "A topic of the board's own bus, instead of these.", valueName: "topic"))
    var topic: String?

    @Option(help: ArgumentHelp("A file with the payload; - is standard input.", valueName: "file"))
    var payload: String?

    func perform() throws(AgentFailure) -> ExitStatus {
        let subject = try subject()
        let session = source.policy == nil ? PolicyInputs.SessionScope.yes : .ifKnown
        let judged = try PolicyInputs(place, source, session: session)
        if case .command(let app) = subject {
            let bytes = try payload.map { path throws(AgentFailure) in
                try PolicyInputs.payload(path)
            } ?? []
            report(command: bytes, to: app, judged)
            return .ok
        }
        switch judged.trial.reading(of: subject) {
        case .write(let write):
            let bytes = try payload.map { path throws(AgentFailure) in
                try PolicyInputs.payload(path)
            } ?? []
            report(judged, write.with(bytes))
        case .refused(_, let rejection): report(.deny(rejection))
        case .query, .answer:
            throw AgentFailure(.usage, "the topic is a read or an answer, not a write")
        case .noRequest, .ignored:
            throw AgentFailure(
                .usage, "no route reads the topic, and an app's are create, update, delete and get")
        }
        return .ok
    }

    private func subject() throws(AgentFailure) -> PolicyCase.Subject {
        if let topic {
            guard app == nil else {
                throw AgentFailure(.usage, "--topic already gives app, operation and class")
            }
            return .topic(topic)
        }
        guard let app, let op, className != nil || op == "command" else {
            throw AgentFailure(.usage, "name an app, an operation and a class, or a --topic")
        }
        guard let app = AppName(app) else {
            throw AgentFailure(.usage, "an app's name is [a-z0-9][a-z0-9-]{0,31}")
        }
        guard let className else { return .command(app) }
        guard let operation = Operation(rawValue: op) else {
            throw AgentFailure(.usage, "the operation is create, update or delete")
        }
        return .write(app, operation, className: className)
    }

    /// Reports a name that is refused before any layer decides.
    private func report(_ decision: Decision) {
        if place.json {
            var members = decision.members
            members["layers"] = .array([])
            members["rates"] = .array([])
            ProcessEnd.say(JSONValue.object(members).text, to: .output)
        } else {
            ProcessEnd.say("✗ \(decision.sentence)", to: .output)
        }
    }

    /// Reports a command. Only the policy file decides about it.
    private func report(command content: [UInt8], to app: AppName, _ judged: PolicyInputs) {
        let decision = judged.gate.decide(command: content, to: app)
        guard !place.json else { return report(decision) }
        let lines = [
            row("command", "to \(app), \(content.count) bytes"),
            row("policy.toml", "\(decision.isAllow ? "✓" : "✗") \(decision.sentence)"),
        ]
        for line in lines { ProcessEnd.say(PlainText.line(line), to: .output) }
    }

    private func report(_ judged: PolicyInputs, _ write: Write) {
        let layers = judged.gate.explain(write)
        let decision = judged.gate.decide(write)
        let rates = judged.gate.rates(of: write).entries
        guard !place.json else {
            var members = decision.members
            members["layers"] = .array(layers.map(\.json))
            members["rates"] = .array(rates.map { entry in
                .object([
                    "rule": .string(entry.rule.description),
                    "rate": .string(entry.rate.description),
                ])
            })
            ProcessEnd.say(JSONValue.object(members).text, to: .output)
            return
        }
        var lines = [row("write", """
            \(write.operation.rawValue) \(write.className) by \(write.app), \
            \(write.payload.count) bytes
            """)]
        for verdict in layers.dropLast() { lines += text(verdict, judged) }
        if !rates.isEmpty {
            let list = rates.map { "at most \($0.rate) (\($0.rule))" }
            lines.append(row("rates", list.joined(separator: ", ")))
        }
        lines.append(conclusion(decision, hasRates: !rates.isEmpty) + hint(decision, judged))
        for line in lines { ProcessEnd.say(PlainText.line(line), to: .output) }
    }

    /// A hint about what else may change the result: a missing session or payload.
    private func hint(_ decision: Decision, _ judged: PolicyInputs) -> String {
        switch decision {
        case .allow where judged.lacksSession:
            " But no session is available: until one is, every write is refused."
        case .deny(let rejection) where payload == nil && rejection.code == .invalidJSON:
            " No payload was given: use --payload FILE to check one."
        default: ""
        }
    }

    private func row(_ title: String, _ text: String) -> String {
        title + String(repeating: " ", count: max(1, 13 - title.count)) + text
    }

    private func text(_ verdict: LayerVerdict, _ judged: PolicyInputs) -> [String] {
        guard let decision = verdict.decision else {
            let why = verdict.layer == "scope" ? judged.scopeSource : "none"
            return [row(verdict.layer, "- forbids nothing (\(why))")]
        }
        let mark = decision.isAllow ? "✓" : "✗"
        var lines = [row(verdict.layer, "\(mark) \(decision.sentence)")]
        if let says = verdict.says, !says.isEmpty { lines.append(row("", "  says: \(says)")) }
        return lines
    }

    private func conclusion(_ decision: Decision, hasRates: Bool) -> String {
        switch decision {
        case .allow(let rule):
            "It may leave the board: \(rule) allows it"
                + (hasRates ? ", as long as the rates do." : ".")
        case .deny(let rejection):
            "It is refused by \(rejection.rule) with \(rejection.code.rawValue): "
                + "\(rejection.reason)."
        }
    }
}

extension LayerVerdict {
    fileprivate var json: JSONValue {
        var members = decision?.members ?? ["decision": .string("absent")]
        members["layer"] = .string(layer)
        if let says { members["says"] = .string(says) }
        return .object(members)
    }
}
