package import Sessions
package import Wire

/// What a board has told of itself, as it stands.
package struct ToldReport: Equatable, Sendable {
    /// Its rules are those told last, by whichever report.
    package let report: BoardReport
    /// Since when the board has told the same.
    package let since: Timestamp

    package init(report: BoardReport, since: Timestamp) {
        self.report = report
        self.since = since
    }
}

extension BoardReport {
    /// The same, with what the report before it adds. Each start of an agent has a new `run`. So
    /// a `run` that comes again after another one belongs to a second machine.
    package func following(_ known: BoardReport?) -> Self {
        var report = self
        let isSame = run == nil || run == known?.run
        report.earlierRun = isSame ? known?.earlierRun : known?.run
        if let run, run == known?.earlierRun { report.isShared = true }
        return report
    }

    /// Whether it tells anything that `known` does not. Without rules it leaves those as told.
    func isNews(after known: BoardReport?) -> Bool {
        var report = self
        report.rules = rules ?? known?.rules
        return report != known
    }
}

package protocol ReportTable {
    func report(of board: InstallationID) throws(AuthorityError) -> ToldReport?
    /// Keeps it; one without rules leaves those that were told.
    func keep(
        _ report: BoardReport, of board: InstallationID, at now: Timestamp
    ) throws(AuthorityError)
    func forgetReport(of board: InstallationID) throws(AuthorityError)
}
