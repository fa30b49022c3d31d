import AgentService
import ArgumentParser
import Gate
import LinuxIO
import Sessions
import Wire

/// `postern-agent policy check`: checks a policy for mistakes.
struct PolicyCheckCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the policy file for mistakes.",
        discussion: """
            Looks for rules that no write reaches, names that are probably misspelled, rules \
            that the scope refuses, limits without effect, and routes that are always refused. \
            The scope is the session's unless --scope gives one. Exit status: 0 nothing found, 3 \
            something found, 78 the file is malformed, or there is no such folder.
            """)

    @OptionGroup var place: BoardPlace
    @OptionGroup var source: PolicySource

    func perform() throws(AgentFailure) -> ExitStatus {
        let judged = try PolicyInputs(place, source, session: .ifKnown)
        let findings = judged.policy.map { policy in
            PolicyLint(
                policy: policy, scope: judged.scopeOfRoutes, routes: judged.routes.routes,
                appLines: judged.appLines
            ).findings
        } ?? []
        if place.json {
            ProcessEnd.say(json(judged, findings).text, to: .output)
        } else {
            for finding in findings { ProcessEnd.say(line(finding, judged), to: .output) }
            ProcessEnd.say(summary(judged, findings.count), to: .output)
        }
        return findings.isEmpty ? .ok : .degraded
    }

    /// `policy.toml:14: …`, as compilers write it; without the line if it is not known.
    private func line(_ finding: PolicyFinding, _ judged: PolicyInputs) -> String {
        let line = finding.place.line
        return file(of: finding, judged) + (line > 0 ? ":\(line)" : "") + ": \(finding.text) "
            + "[\(finding.kind.rawValue)]"
    }

    private func file(of finding: PolicyFinding, _ judged: PolicyInputs) -> String {
        switch finding.place {
        case .policy: judged.file
        case .route: judged.routesFile
        }
    }

    private func summary(_ judged: PolicyInputs, _ count: Int) -> String {
        let restored = judged.restoredWords.map { "; \($0)" } ?? ""
        guard let policy = judged.policy else {
            return "no policy file: the built-in rules apply" + restored
        }
        let found = count == 0 ? "nothing found" : count == 1 ? "1 finding" : "\(count) findings"
        let rules = policy.rules.count == 1 ? "1 rule" : "\(policy.rules.count) rules"
        return "\(found) in \(rules), by default "
            + "\(policy.allowsByDefault ? "allow" : "deny"); scope: \(judged.scopeSource)"
            + restored
    }

    private func json(_ judged: PolicyInputs, _ findings: [PolicyFinding]) -> JSONValue {
        let standard = judged.policy?.allowsByDefault == false ? "deny" : "allow"
        return .object([
            "file": .string(judged.file), "present": .bool(judged.policy != nil),
            "rules": .integer(Int64(judged.policy?.rules.count ?? 0)),
            "default": .string(standard), "scope": .bool(judged.scope != nil),
            "restored": judged.restoredWords.map(JSONValue.string) ?? .null,
            "findings": .array(findings.map { finding in
                .object([
                    "kind": .string(finding.kind.rawValue),
                    "rule": .string(finding.rule.description),
                    "file": .string(file(of: finding, judged)),
                    "line": finding.place.line > 0
                        ? .integer(Int64(finding.place.line)) : .null,
                    "text": .string(finding.text),
                ])
            }),
        ])
    }
}
