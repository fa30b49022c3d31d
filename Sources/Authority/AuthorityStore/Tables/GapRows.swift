import AuthorityCore
import Sessions

/// Time spans that are missing from the store's records, and boards found ahead of the store.
extension StoreTransaction {
    func newestSession() throws(AuthorityError) -> Timestamp? {
        try row(
            """
            SELECT created_at FROM sessions WHERE state = 'active'
            ORDER BY created_at DESC LIMIT 1
            """
        ).map { row throws(AuthorityError) in try row.time("created_at") }
    }

    func gaps() throws(AuthorityError) -> [Gap] {
        try map(try rows("SELECT * FROM gaps ORDER BY began")) { row throws(AuthorityError) in
            Gap(
                began: try row.time("began"), ended: try row.time("ended"),
                isRestored: try row.value("restored") as Int64 != 0)
        }
    }

    func add(_ gap: Gap) throws(AuthorityError) {
        let (began, ended) = (gap.began.milliseconds, gap.ended.milliseconds)
        let restored: Int64 = gap.isRestored ? 1 : 0
        let lengthened = try change(
            """
            UPDATE gaps SET ended = ?2
            WHERE restored = ?3 AND began <= ?1 AND ended >= ?1 AND ended <= ?2
            """, [began, ended, restored])
        guard lengthened == 0 else { return }
        try run(
            """
            INSERT INTO gaps (began, ended, restored) VALUES (?, ?, ?)
            ON CONFLICT (began) DO UPDATE SET
                ended = CASE WHEN gaps.ended > excluded.ended
                    THEN gaps.ended ELSE excluded.ended END,
                restored = CASE WHEN gaps.restored > excluded.restored
                    THEN gaps.restored ELSE excluded.restored END
            """, [began, ended, restored])
        try run(
            """
            DELETE FROM gaps WHERE began IN (
                SELECT began FROM gaps WHERE restored = 0
                ORDER BY began DESC LIMIT \(dialect.unlimited) OFFSET ?)
            """, [Gap.limit])
    }

    func hasGap(from first: Timestamp, to last: Timestamp) throws(AuthorityError) -> Bool {
        try row(
            """
            SELECT began FROM gaps WHERE began < ? AND ended >= ? AND (restored = 1 OR ? >=
                coalesce((SELECT at FROM times WHERE name = 'latest'), 0) - \(Self.plainMemory))
            LIMIT 1
            """,
            [last.milliseconds, first.milliseconds, last.milliseconds]) != nil
    }

    /// How long a gap counts that may be a plain stop of the service: 30 days, in milliseconds.
    private static let plainMemory: Int64 = 30 * 86_400_000

    func isRestored() throws(AuthorityError) -> Bool {
        try row("SELECT began FROM gaps WHERE restored = 1 LIMIT 1") != nil
    }

    func settleGaps(at now: Timestamp) throws(AuthorityError) {
        try run("DELETE FROM gaps")
        try run("DELETE FROM ahead")
        try run(
            """
            INSERT INTO times (name, at) VALUES ('settled', ?)
            ON CONFLICT (name) DO UPDATE SET at = excluded.at
            """, [now.milliseconds])
    }

    func settledAt() throws(AuthorityError) -> Timestamp? {
        try row("SELECT at FROM times WHERE name = 'settled'")
            .map { row throws(AuthorityError) in try row.time("at") }
    }

    func noteUse(
        ofAllUsedSince time: Timestamp, at now: Timestamp
    ) throws(AuthorityError) {
        try run(
            """
            UPDATE sessions SET last_seen = ?2
            WHERE state = 'active' AND last_seen >= ?1 AND last_seen < ?2
            """, [time.milliseconds, now.milliseconds])
    }

    func mayNoteAhead(
        _ board: InstallationID, _ sign: AheadBoard.Sign
    ) throws(AuthorityError) -> Bool {
        let known = try row(
            "SELECT since FROM ahead WHERE installation_id = ?", [board.description])
        guard known == nil else { return false }
        guard sign == .unknown else { return true }
        let count: Int64 = try row("SELECT count(*) AS n FROM ahead WHERE sign = 'unknown'")
            .map { row throws(AuthorityError) in try row.value("n") } ?? 0
        return count < AheadBoard.unknownLimit
    }

    func noteAhead(_ board: AheadBoard) throws(AuthorityError) -> Bool {
        try change(
            """
            INSERT INTO ahead (installation_id, sign, since) VALUES (?, ?, ?)
            ON CONFLICT (installation_id) DO NOTHING
            """,
            [board.board.description, board.sign.rawValue, board.since.milliseconds]) == 1
    }

    func forgetAhead(_ board: InstallationID) throws(AuthorityError) {
        try run("DELETE FROM ahead WHERE installation_id = ?", [board.description])
    }

    func aheadCount() throws(AuthorityError) -> Int {
        try row("SELECT count(*) AS n FROM ahead")
            .map { row throws(AuthorityError) in try row.value("n") } ?? 0
    }

    func aheadBoards(
        limit: Int, of sign: AheadBoard.Sign?
    ) throws(AuthorityError) -> [AheadBoard] {
        try map(
            try rows(
                """
                SELECT * FROM ahead WHERE sign = coalesce(?, sign)
                ORDER BY since, installation_id LIMIT ?
                """, [sign?.rawValue, limit])
        ) { row throws(AuthorityError) in
            AheadBoard(
                board: try row.parsed("installation_id", InstallationID.init),
                sign: try row.parsed("sign", AheadBoard.Sign.init(rawValue:)),
                since: try row.time("since"))
        }
    }
}
