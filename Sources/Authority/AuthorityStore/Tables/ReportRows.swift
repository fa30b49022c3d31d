import AuthorityCore
import PostgreSQLClient
import Sessions
import Wire

extension StoreTransaction {
    func report(of board: InstallationID) throws(AuthorityError) -> StoredReport? {
        try row("SELECT * FROM reports WHERE installation_id = ?", [board.description])
            .flatMap(readReport)
    }

    /// Nil if the joined board has no report.
    func readReport(_ row: SQLRow) throws(AuthorityError) -> StoredReport? {
        guard let numbers = try row.optional("numbers", as: String.self) else { return nil }
        let rules = try row.optional("rules", as: String.self)
        let since = try row.time("since")
        do throws(WireError) {
            return StoredReport(report: try read(numbers, rules), since: since)
        } catch {
            throw damaged("numbers")
        }
    }

    private func read(_ numbers: String, _ rules: String?) throws(WireError) -> BoardReport {
        var json = try JSONObject(parsing: Array(numbers.utf8))
        if let rules {
            let told = try JSONObject(parsing: Array(rules.utf8))
            json.members.merge(told.members) { $1 }
        }
        return try BoardReport(json: json)
    }

    func keep(
        _ report: BoardReport, of board: InstallationID, at now: Timestamp
    ) throws(AuthorityError) {
        var numbers = report
        (numbers.rules, numbers.units) = (nil, .none)
        try run(
            """
            INSERT INTO reports (installation_id, numbers, rules, since) VALUES (?, ?, ?, ?)
            ON CONFLICT (installation_id) DO UPDATE SET
                numbers = excluded.numbers, rules = coalesce(excluded.rules, reports.rules),
                since = excluded.since
            """,
            [board.description, numbers.json.text,
             report.rulesMembers.map { JSONValue.object($0).text }, now.milliseconds])
    }

    func forgetReport(of board: InstallationID) throws(AuthorityError) {
        try run("DELETE FROM reports WHERE installation_id = ?", [board.description])
    }
}
