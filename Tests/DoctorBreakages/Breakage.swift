package import Doctor
import Sessions
import Wire

/// One thing broken where all is well: the check that sees it, and how doctor ends.
package struct Breakage<Facts: Examined>: Sendable, CustomStringConvertible {
    package let id: String
    private let verdict: DoctorVerdict
    private let apply: @Sendable (inout Facts) -> Void

    package init(
        _ id: String, _ verdict: DoctorVerdict, _ apply: @escaping @Sendable (inout Facts) -> Void
    ) {
        self.id = id
        self.verdict = verdict
        self.apply = apply
    }

    package var description: String { "\(id) \(verdict)" }

    /// Breaks it, and returns every result that is wrong then: its check sees the fault, no other
    /// check sees any, and doctor ends with its verdict.
    package func misjudged(by checks: [Check<Facts>], in healthy: Facts) -> [String] {
        var facts = healthy
        apply(&facts)
        let report = DoctorReport(checks, facts)
        let result: CheckResult = verdict == .warnings ? .warning : .failed
        var wrong: [String] = []
        for row in report.rows {
            let finding = row.finding
            let isGood = finding.result <= .skipped
            let isRight = row.check.id == id ? finding.result == result : isGood
            if !isRight || (finding.next == nil) != isGood { wrong.append("\(row)") }
        }
        if report.verdict() != verdict { wrong.append("ends with \(report.verdict())") }
        if report.json.asObject?["result"] != .string(result.rawValue) { wrong.append("the JSON") }
        return wrong
    }
}
