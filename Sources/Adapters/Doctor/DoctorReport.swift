package import Sessions
import Wire

/// The exit status of `doctor`, the same for all programs.
package enum DoctorVerdict: Int32, Sendable {
    case ok = 0
    case failed = 1
    case warnings = 3
    case badConfiguration = 78
}

/// The findings of all checks.
package struct DoctorReport: Sendable {
    package struct Row: Sendable {
        package let check: CheckNote
        package let finding: Finding

        fileprivate init(_ check: CheckNote, _ finding: Finding) {
            self.check = check
            self.finding = finding
        }
    }

    package let rows: [Row]

    package init<Facts: Examined>(_ checks: [Check<Facts>], _ facts: Facts) {
        rows = checks.map { Row(CheckNote($0), $0.judge(facts)) }
    }

    /// The exit status. A failed configuration check comes first, because other results are
    /// unreliable then.
    package func verdict(warningsAreErrors: Bool = false) -> DoctorVerdict {
        let failed = rows.filter { $0.finding.result == .failed }
        if failed.contains(where: { $0.check.group == .configuration }) {
            return .badConfiguration
        }
        guard failed.isEmpty else { return .failed }
        guard rows.contains(where: { $0.finding.result == .warning }) else { return .ok }
        return warningsAreErrors ? .failed : .warnings
    }

    package var json: JSONValue {
        let worst = rows.map(\.finding.result).filter { $0 > .skipped }.max() ?? .ok
        return .object([
            "result": .string(worst.rawValue),
            "checks": .array(rows.map { row in
                var members: [String: JSONValue] = [
                    "id": .string(row.check.id), "group": .string(row.check.group.rawValue),
                    "result": .string(row.finding.result.rawValue),
                    "found": .string(row.finding.found), "why": .string(row.check.why),
                ]
                members["next"] = row.finding.next.map(JSONValue.string)
                return .object(members)
            }),
        ])
    }

    /// A heading for each group, then a line for each check. Under a fault: why it matters and what
    /// to do.
    package var lines: [String] {
        CheckGroup.allCases.flatMap { group -> [String] in
            let inGroup = rows.filter { $0.check.group == group }
            guard !inGroup.isEmpty else { return [] }
            return [group.rawValue] + inGroup.flatMap(Self.lines)
        }
    }

    private static func lines(_ row: Row) -> [String] {
        let first = "  \(sign(row.finding.result)) \(row.check.id.padded)\(row.finding.found)"
        guard let next = row.finding.next else { return [first] }
        return [first, "      why:  \(row.check.why)", "      next: \(next)"]
    }

    private static func sign(_ result: CheckResult) -> String {
        switch result {
        case .ok: "✓"
        case .note: "i"
        case .skipped: "-"
        case .warning: "!"
        case .failed: "✗"
        }
    }
}
