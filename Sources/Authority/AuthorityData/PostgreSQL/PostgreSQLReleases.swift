package import AuthorityCore
import PostgreSQLClient
package import Sessions
import Wire

extension PostgreSQLDataStore {
    /// The most records that one transaction deletes.
    private static let step: Int64 = 5_000

    package func delete(_ release: DataRelease) async throws(AuthorityError) {
        try await write { tables throws(AuthorityError) in try tables.note(release) }
        while try await write({ tables throws(AuthorityError) in
            try tables.deleteRecords(of: release.board, owner: release.owner, limit: Self.step)
        }) {}
    }

    package func openReleases(
        until time: Timestamp
    ) async throws(AuthorityError) -> [DataRelease] {
        try await read { tables throws(AuthorityError) in
            let rows = try tables.rows("""
                SELECT owner, board, at FROM data_releases WHERE NOT settled AND at <= $1
                ORDER BY at LIMIT 100
                """, [.integer(time.milliseconds)])
            var releases: [DataRelease] = []
            for row in rows {
                releases.append(DataRelease(
                    board: try row.parsed("board", InstallationID.init),
                    owner: try row.parsed("owner") { UserID($0) }, at: try row.time("at")))
            }
            return releases
        }
    }

    package func settle(
        _ release: DataRelease, ownerHasBoard: Bool
    ) async throws(AuthorityError) {
        try await write { tables throws(AuthorityError) in
            try tables.settle(release, ownerHasBoard: ownerHasBoard)
        }
    }
}

extension PostgreSQLTables {
    func releases(
        _ keys: Set<ReleaseKey>
    ) throws(AuthorityError) -> [ReleaseKey: Timestamp] {
        let rows = try rows("""
            SELECT r.owner AS owner, r.board AS board, r.at AS at
            FROM json_to_recordset(($1::text)::json) AS g(owner text, board text)
            JOIN data_releases r ON r.owner = g.owner AND r.board = g.board
            """, list: keys.map { key in
                .object([
                    "owner": .string(key.owner.description),
                    "board": .string(key.board.description),
                ])
            })
        var found: [ReleaseKey: Timestamp] = [:]
        for row in rows {
            let key = ReleaseKey(
                owner: try row.parsed("owner") { UserID($0) },
                board: try row.parsed("board", InstallationID.init))
            found[key] = try row.time("at")
        }
        return found
    }

    fileprivate func note(_ release: DataRelease) throws(AuthorityError) {
        try send("""
            INSERT INTO data_releases AS r (owner, board, at, settled) VALUES ($1, $2, $3, false)
            ON CONFLICT (owner, board)
                DO UPDATE SET at = greatest(r.at, excluded.at), settled = false
            """, release.values)
    }

    /// A newer release of the same board and owner stays open.
    fileprivate func settle(
        _ release: DataRelease, ownerHasBoard: Bool
    ) throws(AuthorityError) {
        let place = "owner = $1 AND board = $2 AND at = $3"
        try send(
            ownerHasBoard
                ? "DELETE FROM data_releases WHERE \(place)"
                : "UPDATE data_releases SET settled = true WHERE \(place)", release.values)
    }

    func forgetReleases(before time: Timestamp) throws(AuthorityError) {
        try send(
            "DELETE FROM data_releases WHERE settled AND at < $1", [.integer(time.milliseconds)])
    }
}

extension DataRelease {
    fileprivate var values: [SQLValue] {
        [.text(owner.description), .text(board.description), .integer(at.milliseconds)]
    }
}
