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
                """
                SELECT replacements.* FROM replacements
                JOIN boards AS old ON old.id = replacements.installation_id
                JOIN boards AS new ON new.id = replacements.successor
                WHERE successor = ? AND old.owner = new.owner ORDER BY replaced_at
                """,
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
                installation_id, successor, device_key, replaced_at, waited, last_arrived)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [replaced.installation.description, replaced.successor.description,
             replaced.deviceKey, replaced.replacedAt.milliseconds, replaced.lost.waited,
             replaced.lost.after])
    }

    func moveTimeline(
        from board: InstallationID, to successor: InstallationID
    ) throws(AuthorityError) {
        try run(
            "UPDATE timeline SET installation_id = ? WHERE installation_id = ?",
            [successor.description, board.description])
    }

    private func readReplaced(_ row: SQLRow) throws(AuthorityError) -> ReplacedBoard {
        ReplacedBoard(
            installation: try row.parsed("installation_id", InstallationID.init),
            successor: try row.parsed("successor", InstallationID.init),
            deviceKey: try row.bytes("device_key"), replacedAt: try row.time("replaced_at"),
            lost: LostMessages(
                waited: try row.optional("waited", as: Int64.self),
                after: try row.optional("last_arrived", as: Int64.self)))
    }
}
