package import Sessions
import Wire

/// The events of a board's sessions.
package enum TimelineEvent: String, Sendable, CaseIterable {
    case made, accepted, refreshed, extended, updated, online, offline
    /// The board's gate refused writes of its apps.
    case refused
    case revoked, expired
    case signedOut = "signed-out"
    case reuse, replaced, released, rejected
    /// The board took the place of another one.
    case tookPlace = "took-place"

    /// The event for the reason why a session ended.
    init(end reason: String) {
        switch UnavailableReason(rawValue: reason) {
        case .expired: self = .expired
        case .signedOut: self = .signedOut
        case .reuse: self = .reuse
        default: self = reason == "replaced" ? .replaced : .revoked
        }
    }

    /// The event for a claim that ended without acceptance.
    init(claim state: Claim.State) {
        switch state {
        case .rejected: self = .rejected
        case .expired: self = .expired
        case .sent, .accepted, .cancelled: self = .revoked
        }
    }
}

/// One event of a board's session, or several equal events in a row.
package struct TimelineEntry: Equatable, Sendable {
    package let event: TimelineEvent
    package let session: ObjectID?
    /// `at` is the first time of the event, `until` is the last.
    package let at: Timestamp
    package var until: Timestamp
    package var count: Int64
    /// The detail of the last event.
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
    /// Appends to a board's timeline. If the newest entry has the same event and session, increases
    /// its count instead. Deletes the oldest entries beyond `TimelineRules.limit`.
    func append(
        _ entry: TimelineEntry, to board: InstallationID
    ) throws(AuthorityError)
    /// Deletes the timeline of a board, except the entries of one session.
    func forgetTimeline(
        of board: InstallationID, but session: ObjectID
    ) throws(AuthorityError)
    /// The newest first.
    func timeline(of board: InstallationID) throws(AuthorityError) -> [TimelineEntry]
    /// The newest entry with one of these events.
    func newest(
        _ events: Set<TimelineEvent>, on board: InstallationID
    ) throws(AuthorityError) -> TimelineEntry?

    /// Notes a visible change of a board that has no audit entry.
    func touch(_ board: InstallationID) throws(AuthorityError)
    /// Boards touched after that number, each once, in the order of their last touch; at most
    /// `limit`.
    func touched(
        after number: Int64, limit: Int
    ) throws(AuthorityError) -> [TouchedBoard]
    /// The number of the newest touch, or 0.
    func newestTouch() throws(AuthorityError) -> Int64
}

/// A changed board, with the number of its last touch.
package struct TouchedBoard: Equatable, Sendable {
    package let number: Int64
    package let board: InstallationID

    package init(number: Int64, board: InstallationID) {
        self.number = number
        self.board = board
    }
}

package enum TimelineRules {
    /// The maximum number of entries of a board.
    package static let limit = 200
}

extension Authority {
    /// Adds an event to the timeline if the session lives on a board.
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
            _ = try act.board(board, to: .manage)
            return try act.transaction.timeline(of: board)
        }
    }
}
