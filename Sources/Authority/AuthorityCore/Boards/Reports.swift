package import Sessions
package import Wire

/// The stored report of a board.
package struct StoredReport: Equatable, Sendable {
    /// Contains the last reported rules, even if a later report had none.
    package let report: BoardReport
    /// Since when the board reports the same.
    package let since: Timestamp

    package init(report: BoardReport, since: Timestamp) {
        self.report = report
        self.since = since
    }
}

extension BoardReport {
    /// Adds facts from the report before. Each start of an agent has a new `run`. So if an older
    /// `run` comes again after another one, a second machine uses it.
    package func following(_ known: BoardReport?) -> Self {
        var report = self
        let isSame = run == nil || run == known?.run
        report.earlierRun = isSame ? known?.earlierRun : known?.run
        if let run, run == known?.earlierRun { report.isShared = true }
        return report
    }

    /// Whether the report differs from `known`. A report without rules keeps the known rules.
    func isNews(after known: BoardReport?) -> Bool {
        withRules(of: known) != known
    }

    /// The report with the rules and units of `known` if it has none itself.
    package func withRules(of known: BoardReport?) -> Self {
        var report = self
        if rules == nil { (report.rules, report.units) = (known?.rules, known?.units ?? .none) }
        return report
    }
}

package protocol ReportTable {
    func report(of board: InstallationID) throws(AuthorityError) -> StoredReport?
    /// Stores the report. A report without rules keeps the stored rules.
    func keep(
        _ report: BoardReport, of board: InstallationID, at now: Timestamp
    ) throws(AuthorityError)
    func forgetReport(of board: InstallationID) throws(AuthorityError)
}
