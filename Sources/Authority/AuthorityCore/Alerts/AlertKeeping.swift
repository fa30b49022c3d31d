package import Sessions
import Wire

/// A message about an alert, on one channel, that is not delivered yet.
package struct AlertMessage: Equatable, Sendable {
    package enum State: String, Sendable { case opened, resolved }

    package let alert: Alert
    package let channel: AlertChannel
    /// Counts the messages about the alert from 1. With the alert's id it names the message, also
    /// if it is sent again.
    package let number: Int64
    package let state: State
    /// How often it was tried.
    package var tries: Int64
    package var nextTry: Timestamp
    /// Not tried after this time.
    package let until: Timestamp

    package init(
        alert: Alert, channel: AlertChannel, number: Int64, state: State, tries: Int64 = 0,
        nextTry: Timestamp, until: Timestamp
    ) {
        self.alert = alert
        self.channel = channel
        self.number = number
        self.state = state
        self.tries = tries
        self.nextTry = nextTry
        self.until = until
    }

    /// How long a message is tried.
    static let patience = Duration.seconds(86_400)

    /// The same message after a failed try: one minute later, then twice as long, at most an hour.
    /// Nil: its time is over.
    package func afterFailure(at now: Timestamp) -> Self? {
        var message = self
        message.tries += 1
        message.nextTry = now + min(.seconds(60 << min(tries, 6)), .seconds(3600))
        return message.nextTry < until ? message : nil
    }
}

/// The last try on a channel.
package struct AlertDelivery: Equatable, Sendable {
    package let channel: AlertChannel
    package let at: Timestamp
    /// Nil: it succeeded.
    package let failure: String?

    package init(channel: AlertChannel, at: Timestamp, failure: String?) {
        self.channel = channel
        self.at = at
        self.failure = failure
    }
}

/// A board with all records from which its alerts follow.
package struct WatchedRecords: Sendable {
    package let board: BoardRecord
    /// The active session on it.
    package let session: SessionRecord?
    package let report: StoredReport?

    package init(board: BoardRecord, session: SessionRecord?, report: StoredReport?) {
        self.board = board
        self.session = session
        self.report = report
    }
}

package protocol AlertTable {
    /// Boards that were not released, in the order of their ids, starting after `last`.
    func watchedBoards(
        after last: InstallationID?, limit: Int
    ) throws(AuthorityError) -> [WatchedRecords]
    func openAlerts(limit: Int) throws(AuthorityError) -> [Alert]
    /// Open alerts, and those resolved after `resolved`: the open ones first, then the newest
    /// first. Of the boards of `owner` since this user has them; nil: all. Nil board: any.
    func alerts(
        of owner: UserID?, on board: InstallationID?, resolvedAfter resolved: Timestamp?, limit: Int
    ) throws(AuthorityError) -> [Alert]
    /// Inserts or replaces.
    func save(_ alert: Alert) throws(AuthorityError)
    /// Deletes at most `limit` and returns how many.
    func deleteAlerts(resolvedBefore time: Timestamp, limit: Int) throws(AuthorityError) -> Int
    /// Deletes the messages whose `until` has passed.
    func deleteMessages(endedBefore now: Timestamp) throws(AuthorityError)
    /// Inserts or replaces.
    func save(_ message: AlertMessage) throws(AuthorityError)
    func remove(_ message: AlertMessage) throws(AuthorityError)
    /// Messages whose time has come. Of one alert only the first that is left.
    func dueMessages(
        on channel: AlertChannel, at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> [AlertMessage]
    func note(_ delivery: AlertDelivery) throws(AuthorityError)
    func alertDeliveries() throws(AuthorityError) -> [AlertDelivery]
}

/// Selects alerts for a list.
package struct AlertQuery: Equatable, Sendable {
    /// Everyone's; for administrators.
    package var everyone: Bool
    /// Only those of this board: the caller's, or any for an administrator.
    package var board: InstallationID?
    /// Also the alerts that were resolved within the last 30 days.
    package var withResolved: Bool

    package init(
        everyone: Bool = false, board: InstallationID? = nil, withResolved: Bool = false
    ) {
        self.everyone = everyone
        self.board = board
        self.withResolved = withResolved
    }
}

extension Authority {
    /// The alerts of the caller's boards. All alerts, and those about many boards, for an
    /// administrator who asks for `everyone`. At most 1000.
    package func alerts(
        _ query: AlertQuery, by caller: Caller
    ) async throws(AuthorityError) -> [Alert] {
        let deed: CallKind = query.everyone ? .everyAlert : .ownAlerts
        return try await look(deed, by: caller, nothing: []) { act throws(AuthorityError) in
            var owner = query.everyone ? nil : act.user.objectID
            if let board = query.board { owner = try act.board(board, to: .own).record.owner }
            return try act.transaction.alerts(
                of: owner, on: query.board,
                resolvedAfter: query.withResolved ? act.now - AlertRules.memory : nil,
                limit: 1000)
        }
    }

    /// Refuses a caller who may not send a test message to the operator's channels.
    package func checkAlertTest(by caller: Caller) async throws(AuthorityError) {
        try await act(.testAlerts, by: caller) { act throws(AuthorityError) in
            try act.audit("alerts.tested", "")
        }
    }
}

// Evaluation and delivery: the authority's own work.
extension Authority {
    private static let boardsAtOnce = 500

    /// One round over all boards: stores what changed, with a message for each of `channels`.
    /// Returns the watch for the next round. If it fails, the former watch is still valid.
    package func evaluateAlerts(
        _ watch: AlertWatch, _ sight: AlertSight, channels: [AlertChannel],
        lastData: @escaping @Sendable (InstallationID) -> Timestamp?
    ) async throws(AuthorityError) -> AlertWatch {
        var watch = watch
        let open = try await store.read { transaction throws(AuthorityError) in
            try transaction.openAlerts(limit: 2 * AlertRules.openLimit)
        }
        var round = AlertRound(open, sight)
        var last: InstallationID?
        while true {
            let boards = try await watchedBoards(after: last, at: sight.now, lastData)
            watch.look(at: boards, &round)
            guard boards.count == Self.boardsAtOnce else { break }
            last = boards.last?.installation
        }
        watch.look(at: try await claimsUsedTwice(), &round)
        let changes = try watch.finish(round) { () throws(AuthorityError) in
            try newMessageID()
        }
        try await keep(changes, channels, at: sight.now)
        return watch
    }

    private func watchedBoards(
        after last: InstallationID?, at now: Timestamp,
        _ lastData: @escaping @Sendable (InstallationID) -> Timestamp?
    ) async throws(AuthorityError) -> [WatchedBoard] {
        try await store.read { transaction throws(AuthorityError) in
            var boards: [WatchedBoard] = []
            for records in try transaction.watchedBoards(
                after: last, limit: Self.boardsAtOnce
            ) {
                let id = records.board.installation
                var board = WatchedBoard(
                    installation: id, name: records.board.name,
                    owner: records.board.owner, ownedSince: records.board.ownedSince,
                    lastSeen: records.board.lastSeen, lastData: lastData(id),
                    report: records.report?.report)
                if let record = records.session {
                    board.lastSeen = record.lastSeen
                    take(record, &board, at: now)
                } else {
                    board.expiredAt = try expiry(of: id, transaction)
                    let isOpen = try transaction.openClaim(on: id) != nil
                    let departing = try transaction.departing(on: id)
                    board.isRenewable = departing?.isRenewable == true && !isOpen
                }
                boards.append(board)
            }
            return boards
        }
    }

    /// The prepared claims that have an alert, each in the place of a board.
    private func claimsUsedTwice() async throws(AuthorityError) -> [WatchedBoard] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.preparedClaimsUsedTwice(limit: AlertRules.openLimit).map { claim in
                var place = WatchedBoard(
                    installation: claim.id, name: claim.name, owner: claim.owner,
                    ownedSince: claim.createdAt)
                place.secondAt = claim.secondAt
                return place
            }
        }
    }

    private func take(_ record: SessionRecord, _ board: inout WatchedBoard, at now: Timestamp) {
        let outlook = record.outlook(under: rules.lifetimes)
        guard record.isLive(at: now, under: rules.lifetimes) else {
            board.expiredAt = outlook?.endsAt
            return
        }
        board.session = WatchedBoard.LivingSession(
            id: record.id, createdAt: record.session.createdAt, outlook: outlook)
    }

    /// When the last session of a board expired. Nil if it ended in another way.
    private func expiry(
        of board: InstallationID, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> Timestamp? {
        let ends: Set<TimelineEvent> = [
            .expired, .revoked, .signedOut, .reuse, .replaced, .released,
        ]
        let last = try transaction.newest(ends, on: board)
        return last?.event == .expired ? last?.until : nil
    }

    /// Stores the changes in transactions of limited size. The touch shows them on open pages.
    private func keep(
        _ changes: AlertChanges, _ channels: [AlertChannel], at now: Timestamp
    ) async throws(AuthorityError) {
        var all = changes.resolved.map { ($0, AlertMessage.State.resolved, $0.messages > 0) }
        all += changes.changed.map { ($0, .opened, changes.reminded.contains($0.id)) }
        all += changes.opened.map { ($0, .opened, $0.messages > 0) }
        var rest = all[...]
        while !rest.isEmpty {
            let piece = rest.prefix(200)
            rest = rest.dropFirst(200)
            try await store.transact { transaction throws(AuthorityError) in
                for (alert, state, isSent) in piece {
                    try transaction.save(alert)
                    if let board = alert.board { try transaction.touch(board) }
                    for channel in isSent ? channels : [] {
                        try transaction.save(AlertMessage(
                            alert: alert, channel: channel, number: alert.messages, state: state,
                            nextTry: now, until: now + AlertMessage.patience))
                    }
                }
            }
        }
    }

    /// The messages to send now, at most 100.
    package func dueMessages(
        on channel: AlertChannel
    ) async throws(AuthorityError) -> [AlertMessage] {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            try transaction.dueMessages(on: channel, at: now, limit: 100)
        }
    }

    /// Records the outcome of a try. Returns whether the message will be tried again.
    @discardableResult
    package func noteDelivery(
        of message: AlertMessage, failure: String?
    ) async throws(AuthorityError) -> Bool {
        let now = clock()
        return try await store.transact { transaction throws(AuthorityError) in
            try transaction.note(
                AlertDelivery(channel: message.channel, at: now, failure: failure))
            guard failure != nil, let again = message.afterFailure(at: now) else {
                try transaction.remove(message)
                return false
            }
            try transaction.save(again)
            return true
        }
    }
}
