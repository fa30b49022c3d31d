package import Sessions

/// A time span that the store knows nothing about. Either no service ran on the store, or changes
/// were lost because a backup was restored.
///
/// A plain stop and start leaves a gap, too. It has no effect: without a service no token is made.
package struct Gap: Equatable, Sendable {
    package let began: Timestamp
    package let ended: Timestamp
    /// Whether an operator restored this store, so that a later state certainly existed.
    package let isRestored: Bool

    package init(began: Timestamp, ended: Timestamp, isRestored: Bool = false) {
        self.began = began
        self.ended = ended
        self.isRestored = isRestored
    }

    /// The longest time between two notes of a running service's clock.
    package static let unwatched = Duration.seconds(180)
    /// The maximum number of stored gaps without a restore. The oldest are deleted first.
    package static let limit = 1000

    /// The gap that ends now; nil if there is none.
    ///
    /// `latest`: the latest time in the store, nil before the first service. `known`: the latest
    /// time that this process remembers, nil at its start. `isOtherHistory`: another database has
    /// replaced the one that this process knew, and another process may have raised `latest` in it.
    package init?(
        latest: Timestamp?, known: Timestamp?, now: Timestamp, isOtherHistory: Bool = false
    ) {
        guard let latest, latest < now else { return nil }
        guard let known else {
            self.init(began: latest, ended: now)
            return
        }
        // A database that lost changes under a running service has an earlier time than the service
        // wrote. A loss that is shorter than the time between two notes may not show.
        guard isOtherHistory || latest < known || now - latest > Self.unwatched
        else { return nil }
        self.init(began: isOtherHistory ? min(latest, known) : latest, ended: now)
    }
}

/// A board with tokens that this store did not issue: it is ahead of a restored state.
package struct AheadBoard: Equatable, Sendable {
    package enum Sign: String, Sendable, CaseIterable {
        /// A session token that was made in a gap, or a session that was accepted in a gap.
        case session
        /// A refresh token of a later generation, or of an unknown family.
        case refresh
        /// The board sends messages or has a broker login, and the store does not know it.
        case unknown
    }

    package let board: InstallationID
    package let sign: Sign
    /// When it was first noticed.
    package let since: Timestamp

    package init(board: InstallationID, sign: Sign, since: Timestamp) {
        self.board = board
        self.sign = sign
        self.since = since
    }

    /// The maximum number of stored unknown boards. They prove nothing.
    package static let unknownLimit = 1000
}

package protocol GapTable {
    /// The latest time that a service wrote to this store. Nil before the first service.
    func latestTime() throws(AuthorityError) -> Timestamp?
    /// When the newest live session was made. Nil if there is none.
    func newestSession() throws(AuthorityError) -> Timestamp?
    /// The oldest first.
    func gaps() throws(AuthorityError) -> [Gap]
    /// Adds a gap, or extends the last gap if the two touch. Keeps the newest `Gap.limit` gaps
    /// without a restore.
    func add(_ gap: Gap) throws(AuthorityError)
    /// Whether a gap overlaps the span from `first` to `last`.
    func hasGap(from first: Timestamp, to last: Timestamp) throws(AuthorityError) -> Bool
    /// Whether an operator restored this store and has not settled it yet.
    func isRestored() throws(AuthorityError) -> Bool
    /// Deletes all gaps and all boards that are ahead. Stores `now` as the settled time.
    func settleGaps(at now: Timestamp) throws(AuthorityError)
    /// When the store was last settled. Nil: never.
    func settledAt() throws(AuthorityError) -> Timestamp?
    /// Sets the last use to `now` for every session that was last used at `time` or later.
    func noteUse(
        ofAllUsedSince time: Timestamp, at now: Timestamp
    ) throws(AuthorityError)

    /// Whether a board is not noted as ahead yet, and there is room for another one with this sign.
    func mayNoteAhead(
        _ board: InstallationID, _ sign: AheadBoard.Sign
    ) throws(AuthorityError) -> Bool
    /// Returns false if the board was noted already.
    func noteAhead(_ board: AheadBoard) throws(AuthorityError) -> Bool
    func forgetAhead(_ board: InstallationID) throws(AuthorityError)
    func aheadCount() throws(AuthorityError) -> Int
    /// The oldest note first; at most `limit`. Nil sign: all signs.
    func aheadBoards(
        limit: Int, of sign: AheadBoard.Sign?
    ) throws(AuthorityError) -> [AheadBoard]
}

extension Authority {
    /// Stores a gap if one ends now. Call it when a service starts, before it answers anybody, and
    /// each time before the store's latest time is raised.
    ///
    /// `isAlone`: no other process serves from the store, so all its content is from before the
    /// gap.
    package func noteGap(
        until now: Timestamp, known: Timestamp?, isOtherHistory: Bool = false,
        isAlone: Bool = true
    ) async throws(AuthorityError) {
        try await store.transact { transaction throws(AuthorityError) in
            guard let latest = try transaction.latestTime() else { return }
            guard let gap = Gap(
                latest: latest, known: known, now: now, isOtherHistory: isOtherHistory)
            else { return }
            guard known == nil, isAlone, let newest = try transaction.newestSession() else {
                // If another process serves, its sessions may be from after the loss.
                return try transaction.add(gap)
            }
            // Sessions made after the latest time are known, so the gap begins later. A session
            // from the future was made with a wrong clock, so ignore it.
            let began = newest < now ? max(gap.began, newest) : gap.began
            try transaction.add(Gap(began: began, ended: gap.ended))
        }
    }

    /// Notes that an operator restored an earlier state. Sessions that were in use then count as
    /// used until now: their later use is unknown and must not count as idle time.
    package func noteRestored(actor: String) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            try rules.noteRestored(actor: actor, transaction, at: now)
        }
    }

    /// Settles a restored store: the operator says that all boards that were ahead are claimed
    /// again or given up.
    ///
    /// Returns how many boards were ahead and are given up. Nil if there was no alarm; then nothing
    /// changes.
    @discardableResult
    package func settleRestored(actor: String) async throws(AuthorityError) -> Int? {
        let now = clock()
        let done = try await store.transact { transaction throws(AuthorityError) in
            let givenUp = try transaction.aheadCount()
            guard try transaction.isRestored() || givenUp > 0 else {
                return nil as (lines: [String], givenUp: Int)?
            }
            let unknown = try transaction.aheadBoards(
                limit: AheadBoard.unknownLimit, of: .unknown)
            for found in unknown {
                // The store knows no login for this board, so delete it at the broker.
                try transaction.add(.login(found.board, password: false))
            }
            try transaction.settleGaps(at: now)
            try audit(
                "restored.settled", actor, nil, nil,
                "tokens that this store did not issue are refused from now on",
                transaction, at: now)
            return (transaction.jobLines, givenUp)
        }
        for line in done?.lines ?? [] { worker.wake(line) }
        return done?.givenUp
    }

    package func isRestored() async throws(AuthorityError) -> Bool {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.isRestored()
        }
    }

    private static let shownAhead = 10_000

    /// The boards that are ahead of this store, at most 10,000.
    package func aheadBoards() async throws(AuthorityError) -> [AheadBoard] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.aheadBoards(limit: Self.shownAhead, of: nil)
        }
    }

    /// How many boards are ahead of this store.
    package func aheadCount() async throws(AuthorityError) -> Int {
        try await store.read { transaction throws(AuthorityError) in try transaction.aheadCount() }
    }

    /// Returns the boards that the store does not know, and notes each as ahead.
    package func noteUnknown(
        amongst boards: [InstallationID]
    ) async throws(AuthorityError) -> [InstallationID] {
        guard !boards.isEmpty else { return [] }
        let now = clock()
        return try await store.transact { transaction throws(AuthorityError) in
            var unknown: [InstallationID] = []
            for board in boards {
                guard try !hasHeard(of: board, transaction) else { continue }
                _ = try noteAhead(
                    board, .unknown, "the broker has a login that the store does not know",
                    transaction, at: now)
                unknown.append(board)
            }
            return unknown
        }
    }

    /// Whether the store knows the board, or has audit entries of it other than the alarm for
    /// unknown boards.
    private func hasHeard(
        of board: InstallationID, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> Bool {
        if try transaction.board(board) != nil { return true }
        return try transaction.entries(AuditQuery(limit: 100, board: board))
            .contains { $0.event != "alarm.\(AheadBoard.Sign.unknown.rawValue)" }
    }

    /// Notes an unknown board as ahead. Returns true the first time.
    func noteUnknown(_ board: InstallationID) async throws(AuthorityError) -> Bool {
        let isNews = try await store.glance { transaction throws(AuthorityError) in
            try transaction.mayNoteAhead(board, .unknown)
        }
        guard isNews else { return false }
        let now = clock()
        return try await store.transact { transaction throws(AuthorityError) in
            try noteAhead(
                board, .unknown, "the store does not know this board", transaction, at: now)
        }
    }

    /// Notes that a board is ahead, and writes an alarm to the audit log. Returns false if it was
    /// noted before or there is no room.
    func noteAhead(
        _ board: InstallationID, _ sign: AheadBoard.Sign, _ how: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> Bool {
        let found = AheadBoard(board: board, sign: sign, since: now)
        guard try transaction.mayNoteAhead(board, sign), try transaction.noteAhead(found)
        else { return false }
        try audit(
            "alarm.\(sign.rawValue)", "board", board, nil,
            "\(how); was a backup restored?", transaction, at: now)
        return true
    }
}

extension AuthorityRules {
    /// Does the same as `Authority.noteRestored`, within a larger transaction.
    package func noteRestored(
        actor: String, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let latest = try transaction.latestTime() ?? now
        let newest = try transaction.newestSession() ?? latest
        // A session from the future was made with a wrong clock, so ignore it.
        let began = min(newest < now ? max(latest, newest) : latest, now)
        try transaction.add(Gap(began: began, ended: now, isRestored: true))
        if let idle = lifetimes.idle {
            try transaction.noteUse(ofAllUsedSince: began - idle, at: now)
        }
        try transaction.append(AuditEntry(
            at: now, event: "alarm.restored", actor: actor, board: nil, session: nil,
            detail: "the state of \(began.seconds) was restored; boards may be ahead of it"))
    }
}
