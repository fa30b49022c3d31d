package import Sessions

/// A session with all that the requests of its board need, read in one trip to the store.
package struct BoardSession: Sendable {
    package var record: SessionRecord
    package let username: String
    /// What its board told last.
    package var report: ToldReport?

    package init(record: SessionRecord, username: String, report: ToldReport?) {
        self.record = record
        self.username = username
        self.report = report
    }

    var profile: UserProfile { UserProfile(objectID: record.session.user, username: username) }
}

/// What a board's request asks the store first.
package struct FirstQuestion: Sendable {
    package let request: MessageID
    package let board: InstallationID
    /// Of the session token; nil where the request has none.
    package let tokenHash: [UInt8]?

    package init(request: MessageID, board: InstallationID, tokenHash: [UInt8]?) {
        self.request = request
        self.board = board
        self.tokenHash = tokenHash
    }
}

/// The answer to it.
package struct FirstLook: Sendable {
    /// The reply that was given before.
    package let reply: [UInt8]?
    /// The session that the request's token names.
    package let session: BoardSession?

    package init(reply: [UInt8]?, session: BoardSession?) {
        self.reply = reply
        self.session = session
    }
}
