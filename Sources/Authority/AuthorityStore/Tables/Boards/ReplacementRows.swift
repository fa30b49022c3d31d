import AuthorityCore
import PostgreSQLClient
import Sessions

/// Boards whose place another board took.
extension StoreTransaction {
    func replacement(of board: InstallationID) throws(AuthorityError) -> ReplacedBoard? {
        try row("SELECT * FROM replacements WHERE installation_id = ?", [board.description])
            .map(readReplaced)
    }

    func isReplaced(deviceKey: [UInt8]) throws(AuthorityError) -> Bool {
        try row("SELECT 1 AS one FROM replacements WHERE device_key = ? LIMIT 1", [deviceKey])
            != nil
    }

    func replaced(by board: InstallationID) throws(AuthorityError) -> [ReplacedBoard] {
        try map(
            try rows(
                "SELECT * FROM replacements WHERE successor = ? ORDER BY replaced_at",
                [board.description]),
            readReplaced)
    }

    func insert(_ replaced: ReplacedBoard) throws(AuthorityError) {
        try run(
            "UPDATE replacements SET successor = ? WHERE successor = ?",
            [replaced.successor.description, replaced.installation.description])
        try run(
            """
            INSERT INTO replacements (
                installation_id, successor, device_key, replaced_at, lost_count, lost_first)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [replaced.installation.description, replaced.successor.description,
             replaced.deviceKey, replaced.replacedAt.milliseconds, replaced.lost?.count,
             replaced.lost?.first])
    }

    func moveTimeline(
        from board: InstallationID, to successor: InstallationID
    ) throws(AuthorityError) {
        try run(
            "UPDATE timeline SET installation_id = ? WHERE installation_id = ?",
            [successor.description, board.description])
    }

    private func readReplaced(_ row: SQLRow) throws(AuthorityError) -> ReplacedBoard {
        let count = try row.optional("lost_count", as: Int64.self)
        let first = try row.optional("lost_first", as: Int64.self)
        return ReplacedBoard(
            installation: try row.parsed("installation_id", InstallationID.init),
            successor: try row.parsed("successor", InstallationID.init),
            deviceKey: try row.bytes("device_key"), replacedAt: try row.time("replaced_at"),
            lost: count.map { LostMessages(count: $0, first: first) })
    }
}
