package import AuthorityCore
import AuthorityStore
import GRDB
package import Sessions

extension SQLiteDataStore {
    /// The most records that one transaction deletes.
    private static let step = 5_000

    package func delete(_ release: DataRelease) async throws(AuthorityError) {
        try await write { tables throws(AuthorityError) in try tables.note(release) }
        while try await write({ tables throws(AuthorityError) in
            try Deletion(tables: tables).records(
                of: release.board, owner: release.owner, limit: Self.step)
        }) {}
    }

    package func openReleases(
        until time: Timestamp
    ) async throws(AuthorityError) -> [DataRelease] {
        try await read { database in
            let rows = try Row.fetchAll(
                database.cachedStatement(sql: """
                    SELECT owner, board, at FROM releases WHERE settled = 0 AND at <= ?
                    ORDER BY at LIMIT 100
                    """), arguments: [time.milliseconds])
            return try rows.map { row in
                guard let owner = UserID(row["owner"] as String),
                    let board = InstallationID(row["board"] as String)
                else { throw damagedData("owner") }
                return DataRelease(
                    board: board, owner: owner, at: Timestamp(milliseconds: row["at"]))
            }
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

extension SQLiteTables {
    func releases(
        _ keys: Set<ReleaseKey>
    ) throws(AuthorityError) -> [ReleaseKey: Timestamp] {
        var found: [ReleaseKey: Timestamp] = [:]
        for key in keys where !cache.unreleased.contains(key) {
            let at: Int64? = try with("SELECT at FROM releases WHERE owner = ? AND board = ?") {
                try $0.first(key.values)?["at"]
            }
            if let at { found[key] = Timestamp(milliseconds: at) } else {
                cache.unreleased.insert(key)
            }
        }
        return found
    }

    fileprivate func note(_ release: DataRelease) throws(AuthorityError) {
        cache.unreleased.remove(release.key)
        try with("""
            INSERT INTO releases (owner, board, at, settled) VALUES (?, ?, ?, 0)
            ON CONFLICT (owner, board) DO UPDATE SET at = max(at, excluded.at), settled = 0
            """) { try $0.run(release.key.values + [release.at.milliseconds]) }
    }

    /// A newer release of the same board and owner stays open.
    fileprivate func settle(
        _ release: DataRelease, ownerHasBoard: Bool
    ) throws(AuthorityError) {
        let place = "owner = ? AND board = ? AND at = ?"
        try with(
            ownerHasBoard
                ? "DELETE FROM releases WHERE \(place)"
                : "UPDATE releases SET settled = 1 WHERE \(place)"
        ) { try $0.run(release.key.values + [release.at.milliseconds]) }
    }

    func forgetReleases(before time: Timestamp) throws(AuthorityError) {
        try with("DELETE FROM releases WHERE settled = 1 AND at < ?") {
            try $0.run([time.milliseconds])
        }
    }
}

extension DataRelease {
    fileprivate var key: ReleaseKey { ReleaseKey(owner: owner, board: board) }
}

extension ReleaseKey {
    /// The columns owner and board.
    fileprivate var values: [(any DatabaseValueConvertible)?] {
        [owner.description, board.description]
    }
}
