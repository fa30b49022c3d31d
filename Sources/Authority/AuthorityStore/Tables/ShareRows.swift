import AuthorityCore
import Gate
import PostgreSQLClient
import Sessions

/// Shares of boards, and open invitations.
extension StoreTransaction {
    func share(
        of board: InstallationID, with user: UserID
    ) throws(AuthorityError) -> ShareRecord? {
        try row(
            "SELECT * FROM shares WHERE user_id = ? AND installation_id = ?",
            [user.description, board.description]
        ).map(readShare)
    }

    func shares(of board: InstallationID) throws(AuthorityError) -> [ShareRecord] {
        try map(
            try rows(
                "SELECT * FROM shares WHERE installation_id = ? ORDER BY created_at, id",
                [board.description]),
            readShare)
    }

    func shares(with user: UserID) throws(AuthorityError) -> [ShareRecord] {
        try map(
            try rows(
                "SELECT * FROM shares WHERE user_id = ? ORDER BY installation_id",
                [user.description]),
            readShare)
    }

    func shares(
        endedBy time: Timestamp, limit: Int
    ) throws(AuthorityError) -> [ShareRecord] {
        try map(
            try rows(
                "SELECT * FROM shares WHERE until <= ? ORDER BY until LIMIT ?",
                [time.milliseconds, limit]),
            readShare)
    }

    func save(_ share: ShareRecord) throws(AuthorityError) {
        try run(
            """
            INSERT INTO shares (
                id, installation_id, user_id, owner_id, level, classes, until, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (user_id, installation_id) DO UPDATE SET
                id = excluded.id, owner_id = excluded.owner_id, level = excluded.level,
                classes = excluded.classes, until = excluded.until,
                created_at = excluded.created_at
            """,
            [share.id.description, share.board.description, share.user.description,
             share.owner.description, share.terms.right.rawValue,
             Self.list(share.terms.classes), share.terms.until?.milliseconds,
             share.createdAt.milliseconds])
    }

    func deleteShare(_ id: ObjectID) throws(AuthorityError) -> Bool {
        try change("DELETE FROM shares WHERE id = ?", [id.description]) == 1
    }

    func invitation(hash: [UInt8]) throws(AuthorityError) -> InvitationRecord? {
        try row("SELECT * FROM invitations WHERE hash = ?", [hash]).map(readInvitation)
    }

    func invitations(to board: InstallationID) throws(AuthorityError) -> [InvitationRecord] {
        try map(
            try rows(
                "SELECT * FROM invitations WHERE installation_id = ? ORDER BY created_at, id",
                [board.description]),
            readInvitation)
    }

    func insert(_ invitation: InvitationRecord) throws(AuthorityError) {
        try run(
            """
            INSERT INTO invitations (
                id, hash, installation_id, owner_id, level, classes, until, created_at,
                expires_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [invitation.id.description, invitation.hash, invitation.board.description,
             invitation.owner.description, invitation.terms.right.rawValue,
             Self.list(invitation.terms.classes), invitation.terms.until?.milliseconds,
             invitation.createdAt.milliseconds, invitation.expiresAt.milliseconds])
    }

    func deleteInvitation(_ id: ObjectID) throws(AuthorityError) -> Bool {
        try change("DELETE FROM invitations WHERE id = ?", [id.description]) == 1
    }

    func moveInvitations(
        from board: InstallationID, to successor: InstallationID
    ) throws(AuthorityError) {
        try run(
            "UPDATE invitations SET installation_id = ? WHERE installation_id = ?",
            [successor.description, board.description])
    }

    func deleteInvitations(
        expiredBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        try change(
            """
            DELETE FROM invitations WHERE id IN (
                SELECT id FROM invitations WHERE expires_at < ? LIMIT ?)
            """, [time.milliseconds, Int64(limit)])
    }

    private func readTerms(_ row: SQLRow) throws(AuthorityError) -> ShareTerms {
        ShareTerms(
            right: try row.parsed("level", ShareRight.init(rawValue:)),
            classes: try list("classes", row) { ClassName($0) },
            until: try row.optionalTime("until"))
    }

    private func readShare(_ row: SQLRow) throws(AuthorityError) -> ShareRecord {
        ShareRecord(
            id: try row.parsed("id", ObjectID.init),
            board: try row.parsed("installation_id", InstallationID.init),
            user: try row.parsed("user_id", UserID.init),
            owner: try row.parsed("owner_id", UserID.init), terms: try readTerms(row),
            createdAt: try row.time("created_at"))
    }

    private func readInvitation(_ row: SQLRow) throws(AuthorityError) -> InvitationRecord {
        InvitationRecord(
            id: try row.parsed("id", ObjectID.init), hash: try row.bytes("hash"),
            board: try row.parsed("installation_id", InstallationID.init),
            owner: try row.parsed("owner_id", UserID.init), terms: try readTerms(row),
            createdAt: try row.time("created_at"), expiresAt: try row.time("expires_at"))
    }
}
