import AgentCore
import ArgumentParser
import Gate
import LinuxIO
import Sessions
import Wire

/// `postern-agent policy`: the rules that are in force on this board.
struct PolicyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "What this board's programs may write.",
        subcommands: [PolicyCheckCommand.self, PolicyExplainCommand.self])
}

struct PolicyCheckCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Read the policy file and say whether it is well-formed.")

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        let policy = try BoardFiles.policy(in: place.configDir)
        let text = policy.map { policy in
            "\(policy.rules.count) rules, by default \(policy.allowsByDefault ? "allow" : "deny")"
        } ?? "no policy file: the built-in rules apply"
        if place.json {
            ProcessEnd.say(
                JSONValue.object([
                    "present": .bool(policy != nil),
                    "rules": .integer(Int64(policy?.rules.count ?? 0)),
                ]).text, to: .output)
        } else {
            ProcessEnd.say(text, to: .output)
        }
        return .ok
    }
}

struct PolicyExplainCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Say whether a write would pass, and what decides.")

    @OptionGroup var place: BoardPlace

    @Argument(help: "The program's name.")
    var app: String

    @Argument(help: "create, update or delete.")
    var op: String

    @Argument(help: "The class.", completion: nil)
    var className: String

    @Option(help: ArgumentHelp("A file with the payload; - is standard input.", valueName: "file"))
    var payload: String?

    func perform() throws(AgentFailure) -> ExitStatus {
        let files = try BoardFiles(place)
        guard let app = AppName(app) else {
            throw AgentFailure(.usage, "an app's name is [a-z0-9][a-z0-9-]{0,31}")
        }
        guard let operation = Operation(rawValue: op) else {
            throw AgentFailure(.usage, "the operation is create, update or delete")
        }
        guard let name = ClassName(className) else {
            return report([], .deny(Rejection(
                code: .badClassName, rule: .builtin(.topic),
                reason: "the class name is not allowed")))
        }
        let write = Write(
            app: app, className: name, operation: operation, payload: try readPayload())
        let gate = Gate(policy: files.policy, scope: try scope(files))
        return report(gate.explain(write), gate.decide(write))
    }

    /// The scope of the session that is there; what it is not known by forbids nothing.
    private func scope(_ files: BoardFiles) throws(AgentFailure) -> Scope? {
        let (_, answer) = try files.ask(.session)
        guard let json = answer.members["scope"], json != .null else { return nil }
        guard let scope = try? Scope(ScopeDocument(unchecked: json)) else {
            throw AgentFailure(.failed, "the session's scope cannot be read")
        }
        return scope
    }

    private func readPayload() throws(AgentFailure) -> [UInt8] {
        guard let payload else { return [] }
        do throws(FileFailure) {
            guard payload == "-" else {
                return try PrivateFile.read(
                    payload, limit: Gate.payloadLimit + 1, strictestMode: 0o777)
            }
        } catch {
            throw AgentFailure(error)
        }
        guard let bytes = try? Terminal.readStandardInput(limit: Gate.payloadLimit + 1) else {
            throw AgentFailure(.failed, "standard input cannot be read, or is too long")
        }
        return bytes
    }

    private func report(_ layers: [LayerVerdict], _ decision: Decision) -> ExitStatus {
        if place.json {
            var members = decision.members
            members["layers"] = .array(layers.map { verdict in
                var layer = verdict.decision?.members ?? ["decision": .string("absent")]
                layer["layer"] = .string(verdict.layer)
                return .object(layer)
            })
            ProcessEnd.say(JSONValue.object(members).text, to: .output)
        } else {
            for verdict in layers {
                let pad = String(repeating: " ", count: max(1, 13 - verdict.layer.count))
                ProcessEnd.say(
                    verdict.layer + pad + (verdict.decision?.sentence ?? "absent"), to: .output)
            }
            if layers.isEmpty { ProcessEnd.say(decision.sentence, to: .output) }
        }
        return .ok
    }
}

extension Decision {
    fileprivate var members: [String: JSONValue] {
        switch self {
        case .allow(let rule):
            ["decision": .string("allow"), "rule": .string(rule.description)]
        case .deny(let rejection):
            [
                "decision": .string("deny"), "rule": .string(rejection.rule.description),
                "code": .integer(Int64(rejection.code.rawValue)),
                "error": .string(rejection.reason),
                "field": rejection.field.map(JSONValue.string) ?? .null,
            ]
        }
    }

    fileprivate var sentence: String {
        switch self {
        case .allow(let rule): "allow  \(rule)"
        case .deny(let rejection):
            "deny   \(rejection.rule): \(rejection.code.rawValue) \(rejection.reason)"
                + (rejection.field.map { " (\($0))" } ?? "")
        }
    }
}
