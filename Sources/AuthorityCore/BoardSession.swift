import Sessions

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

/// What a board's request looks at first.
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
