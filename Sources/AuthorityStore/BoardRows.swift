import AuthorityCore
import Foundation
import GRDB
import Sessions
import Wire

extension SQLiteTransaction {
    func board(_ id: InstallationID) throws(AuthorityError) -> BoardRecord? {
        try row("SELECT * FROM boards WHERE id = ?", [id.description]).map(readBoard)
    }

    func deviceKeys(of board: InstallationID) throws(AuthorityError) -> [[UInt8]] {
        try map(
            try rows(
                """
                SELECT device_key FROM boards WHERE id = ?1
                UNION ALL SELECT device_key FROM claims
                    WHERE installation_id = ?1 AND state = 'sent'
                """, [board.description])
        ) { row throws(AuthorityError) in try row.bytes("device_key") }
    }

    func boards(of owner: UserID?) throws(AuthorityError) -> [BoardRecord] {
        let found = if let owner {
            try rows(
                "SELECT * FROM boards WHERE owner = ? ORDER BY name, id", [owner.description])
        } else {
            try rows("SELECT * FROM boards ORDER BY name, id")
        }
        return try map(found, readBoard)
    }

    func save(_ board: BoardRecord) throws(AuthorityError) {
        try run(
            """
            INSERT INTO boards (id, name, device_key, owner, released, last_seen, owned_since)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET
                name = excluded.name, device_key = excluded.device_key, owner = excluded.owner,
                released = excluded.released, last_seen = excluded.last_seen,
                owned_since = excluded.owned_since
            """,
            [board.installation.description, board.name, Data(board.deviceKey),
             board.owner.description, board.released, board.lastSeen?.milliseconds,
             board.ownedSince.milliseconds])
    }

    func setStatus(
        _ status: BoardStatus, of board: InstallationID
    ) throws(AuthorityError) {
        try run(
            """
            INSERT INTO statuses (installation_id, status) VALUES (?, ?)
            ON CONFLICT (installation_id) DO UPDATE SET status = excluded.status
            """,
            [board.description, String(decoding: status.payload, as: UTF8.self)])
    }

    func status(of board: InstallationID) throws(AuthorityError) -> BoardStatus? {
        try row("SELECT status FROM statuses WHERE installation_id = ?", [board.description])
            .map { row throws(AuthorityError) in
                let text: String = try row.value("status")
                do throws(WireError) {
                    return try BoardStatus(parsing: Array(text.utf8))
                } catch {
                    throw damaged("status")
                }
            }
    }

    func brokerPassword(of board: InstallationID) throws(AuthorityError) -> SecretBytes? {
        try row(
            "SELECT password FROM broker_logins WHERE installation_id = ?", [board.description]
        ).map { row throws(AuthorityError) in
            try wrapping.unwrap(try row.bytes("password"), place: place(of: board))
        }
    }

    func setBrokerPassword(
        _ password: SecretBytes?, of board: InstallationID
    ) throws(AuthorityError) {
        guard let password else {
            try run(
                "DELETE FROM broker_logins WHERE installation_id = ?", [board.description])
            return
        }
        try run(
            """
            INSERT INTO broker_logins (installation_id, password) VALUES (?, ?)
            ON CONFLICT (installation_id) DO UPDATE SET password = excluded.password
            """,
            [board.description, Data(try wrapping.wrap(password, place: place(of: board)))])
    }

    func boardsWithLogin() throws(AuthorityError) -> [InstallationID] {
        try map(try rows("SELECT installation_id FROM broker_logins")) {
            row throws(AuthorityError) in
            try row.parsed("installation_id", InstallationID.init)
        }
    }

    func nextSequence(
        sealKey: KeyID, board: InstallationID, at now: Timestamp
    ) throws(AuthorityError) -> Int64 {
        let found = try row(
            """
            INSERT INTO sequences (seal_key, installation_id, last) VALUES (?1, ?2, ?3)
            ON CONFLICT (seal_key, installation_id) DO UPDATE SET last = max(last + 1, ?3)
            RETURNING last
            """, [sealKey.description, board.description, now.milliseconds])
        guard let found else { throw damaged("last") }
        return try found.value("last")
    }

    private func place(of board: InstallationID) -> String {
        "broker_logins.password \(board)"
    }

    private func readBoard(_ row: Row) throws(AuthorityError) -> BoardRecord {
        BoardRecord(
            installation: try row.parsed("id", InstallationID.init),
            name: try row.value("name"), deviceKey: try row.bytes("device_key"),
            owner: try row.parsed("owner", UserID.init), released: try row.value("released"),
            lastSeen: try row.optionalTime("last_seen"), ownedSince: try row.time("owned_since"))
    }
}
