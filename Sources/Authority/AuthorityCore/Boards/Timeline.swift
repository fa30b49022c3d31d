package import Sessions
import Wire

/// What may befall the sessions of a board.
package enum TimelineEvent: String, Sendable, CaseIterable {
    case made, accepted, refreshed, extended, updated, online, offline
    /// The board's gate refused writes of its programs.
    case refused
    case revoked, expired
    case signedOut = "signed-out"
    case reuse, replaced, released, rejected

    /// How a session ended.
    init(end reason: String) {
        switch UnavailableReason(rawValue: reason) {
        case .expired: self = .expired
        case .signedOut: self = .signedOut
        case .reuse: self = .reuse
        default: self = reason == "replaced" ? .replaced : .revoked
        }
    }

    /// How a claim ended that was not accepted.
    init(claim state: Claim.State) {
        switch state {
        case .rejected: self = .rejected
        case .expired: self = .expired
        case .sent, .accepted, .cancelled: self = .revoked
        }
    }
}

/// One thing that befell a board's session, or the same thing several times in succession.
package struct TimelineEntry: Equatable, Sendable {
    package let event: TimelineEvent
    package let session: ObjectID?
    /// The first time and the last.
    package let at: Timestamp
    package var until: Timestamp
    package var count: Int64
    /// Of the last time.
    package var detail: String

    package init(
        event: TimelineEvent, session: ObjectID?, at: Timestamp, until: Timestamp? = nil,
        count: Int64 = 1, detail: String = ""
    ) {
        self.event = event
        self.session = session
        self.at = at
        self.until = until ?? at
        self.count = count
        self.detail = detail
    }
}

package protocol TimelineTable {
    /// Appends to a board's timeline, or counts up its newest entry where that is the same
    /// event of the same session. The oldest beyond `TimelineRules.limit` go.
    func append(
        _ entry: TimelineEntry, to board: InstallationID
    ) throws(AuthorityError)
    /// Forgets what befell all sessions of a board but one.
    func forgetTimeline(
        of board: InstallationID, but session: ObjectID
    ) throws(AuthorityError)
    /// The newest first.
    func timeline(of board: InstallationID) throws(AuthorityError) -> [TimelineEntry]

    /// Notes that what people see of a board has changed without a word in the audit log.
    func touch(_ board: InstallationID) throws(AuthorityError)
    /// Boards touched after that number, each once, the one touched last at the end; at most
    /// `limit`.
    func touched(
        after number: Int64, limit: Int
    ) throws(AuthorityError) -> [TouchedBoard]
    /// The number of the newest touch, or 0.
    func newestTouch() throws(AuthorityError) -> Int64
}

package struct TouchedBoard: Equatable, Sendable {
    package let number: Int64
    package let board: InstallationID

    package init(number: Int64, board: InstallationID) {
        self.number = number
        self.board = board
    }
}

package enum TimelineRules {
    /// How many entries a board has.
    package static let limit = 200
}

extension Authority {
    /// Notes what befell a session, if it is one of a board.
    func note(
        _ event: TimelineEvent, of record: SessionRecord, _ detail: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard let board = record.board else { return }
        try note(event, on: board, record.id, detail, transaction, at: now)
    }

    func note(
        _ event: TimelineEvent, on board: InstallationID, _ session: ObjectID?,
        _ detail: String, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        try transaction.append(
            TimelineEntry(
                event: event, session: session, at: now, detail: String(detail.prefix(200))),
            to: board)
    }

    package func timeline(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> [TimelineEntry] {
        try await look(.board, by: caller) { act throws(AuthorityError) in
            _ = try act.ownBoard(board)
            return try act.transaction.timeline(of: board)
        }
    }
}
