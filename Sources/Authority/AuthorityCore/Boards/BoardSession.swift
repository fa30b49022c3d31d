package import Sessions

/// A session with all data that its board's requests need, read in one query.
package struct BoardSession: Sendable {
    package var record: SessionRecord
    package let username: String
    /// The last report of the board.
    package var report: StoredReport?

    package init(record: SessionRecord, username: String, report: StoredReport?) {
        self.record = record
        self.username = username
        self.report = report
    }

    var profile: UserProfile { UserProfile(objectID: record.session.user, username: username) }
}

/// The first query of a board's request.
package struct FirstQuestion: Sendable {
    package let request: MessageID
    package let board: InstallationID
    /// The hash of the session token. Nil if the request has none.
    package let tokenHash: [UInt8]?

    package init(request: MessageID, board: InstallationID, tokenHash: [UInt8]?) {
        self.request = request
        self.board = board
        self.tokenHash = tokenHash
    }
}

/// The answer to a `FirstQuestion`.
package struct FirstLook: Sendable {
    /// The stored reply to an earlier delivery of the request.
    package let reply: [UInt8]?
    /// The session that the request's token names.
    package let session: BoardSession?

    package init(reply: [UInt8]?, session: BoardSession?) {
        self.reply = reply
        self.session = session
    }
}
