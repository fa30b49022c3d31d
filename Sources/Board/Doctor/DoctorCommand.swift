import ArgumentParser
import LinuxIO
import Sessions
import Wire

/// `postern-agent doctor`: what may be wrong with this board, and what to do about it.
struct DoctorCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Look for what is wrong with this board.",
        discussion: """
            Changes nothing. Exit status: 0 all is well, 3 there are warnings, 1 a check failed, \
            78 one of the configuration failed.
            """)

    @OptionGroup var place: BoardPlace

    @Flag(help: "Name the checks without running them.")
    var list = false

    func perform() throws(AgentFailure) -> ExitStatus {
        if list {
            sayList()
            return .ok
        }
        let facts = BoardFacts(place)
        let report = DoctorReport(facts)
        if place.json {
            ProcessEnd.say(report.json.text, to: .output)
        } else {
            for line in report.lines { ProcessEnd.say(line, to: .output) }
        }
        return report.status
    }

    private func sayList() {
        guard place.json else {
            for check in Check.all {
                let id = check.id + String(repeating: " ", count: max(1, 17 - check.id.count))
                ProcessEnd.say(id + check.group.rawValue + ": " + check.about, to: .output)
            }
            return
        }
        let checks = Check.all.map { check in
            JSONValue.object([
                "id": .string(check.id), "group": .string(check.group.rawValue),
                "about": .string(check.about),
            ])
        }
        ProcessEnd.say(JSONValue.object(["checks": .array(checks)]).text, to: .output)
    }
}

/// What all checks found.
struct DoctorReport {
    let findings: [(check: Check, finding: Finding)]

    init(_ facts: BoardFacts) {
        findings = Check.all.map { ($0, $0.judge(facts)) }
    }

    var status: ExitStatus {
        let failed = findings.filter { $0.finding.result == .failed }
        if failed.contains(where: { $0.check.group == .configuration }) {
            return .badConfiguration
        }
        guard failed.isEmpty else { return .failed }
        return findings.contains { $0.finding.result == .warning } ? .degraded : .ok
    }

    var json: JSONValue {
        let worst = findings.map(\.finding.result).filter { $0 != .skipped }.max() ?? .ok
        return .object([
            "result": .string(worst.rawValue),
            "checks": .array(findings.map { check, finding in
                var members: [String: JSONValue] = [
                    "id": .string(check.id), "group": .string(check.group.rawValue),
                    "result": .string(finding.result.rawValue), "found": .string(finding.found),
                ]
                members["next"] = finding.next.map(JSONValue.string)
                return .object(members)
            }),
        ])
    }

    /// A heading for each group, a line for each check, and what to do under it.
    var lines: [String] {
        CheckGroup.allCases.flatMap { group in
            let inGroup = findings.filter { $0.check.group == group }
            return [group.rawValue] + inGroup.flatMap { check, finding in
                let id = check.id + String(repeating: " ", count: max(1, 17 - check.id.count))
                return ["  \(Self.sign(finding.result)) \(id)\(finding.found)"]
                    + (finding.next.map { ["      next: \($0)"] } ?? [])
            }
        }
    }

    private static func sign(_ result: CheckResult) -> String {
        switch result {
        case .ok: "✓"
        case .skipped: "-"
        case .warning: "!"
        case .failed: "✗"
        }
    }
}
