package import Sessions

/// A span of which the store knows nothing: nobody served from it then, or what was done was done
/// to a later state of it, before a backup was restored.
///
/// A plain stop and start leaves one too. That costs nothing: while nobody serves, nothing is
/// issued, so no token was made in it.
package struct Gap: Equatable, Sendable {
    package let began: Timestamp
    package let ended: Timestamp
    /// Whether it is certain that there was a later state: an operator restored this one.
    package let isRestored: Bool

    package init(began: Timestamp, ended: Timestamp, isRestored: Bool = false) {
        self.began = began
        self.ended = ended
        self.isRestored = isRestored
    }

    /// Between two looks at a running service's clock no more than this passes.
    package static let unwatched = Duration.seconds(180)
    /// How many are remembered that nobody restored; the oldest give way.
    package static let limit = 1000

    /// The gap that ends now, if there is one. `latest`: the latest time in the store, nil before
    /// the first service; `known`: what this process took it for, nil at its start;
    /// `isOtherHistory`: another database has taken over from the one that this process knew, and
    /// `latest` may be what another process has told that one since.
    package init?(
        latest: Timestamp?, known: Timestamp?, now: Timestamp, isOtherHistory: Bool = false
    ) {
        guard let latest, latest < now else { return nil }
        guard let known else {
            self.init(began: latest, ended: now)
            return
        }
        // A database that fell back under a running service has an earlier time than it was told,
        // unless it lacks less than what passes between two times.
        guard isOtherHistory || latest < known || now - latest > Self.unwatched
        else { return nil }
        self.init(began: isOtherHistory ? min(latest, known) : latest, ended: now)
    }
}

/// A board that bears what this store did not issue: it is ahead of a restored state.
package struct AheadBoard: Equatable, Sendable {
    package enum Sign: String, Sendable, CaseIterable {
        /// A session token that was made in a gap, or a session accepted in one.
        case session
        /// A refresh token of a later generation, or of an unknown family.
        case refresh
        /// It speaks to us, or has a login of ours, and the store does not know it.
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

    /// Of boards that the store does not know so many are remembered: they prove nothing.
    package static let unknownLimit = 1000
}

package protocol GapTable {
    /// The latest time that a service of this store has believed; nil before the first.
    func latestTime() throws(AuthorityError) -> Timestamp?
    /// When the newest session that lives was made; nil where none does.
    func newestSession() throws(AuthorityError) -> Timestamp?
    /// The oldest first.
    func gaps() throws(AuthorityError) -> [Gap]
    /// Adds a gap, or lengthens the last one if it touches that. Of those that nobody restored
    /// the newest `Gap.limit` stay.
    func add(_ gap: Gap) throws(AuthorityError)
    /// Whether a gap has a part between these two times.
    func hasGap(from first: Timestamp, to last: Timestamp) throws(AuthorityError) -> Bool
    /// Whether an operator restored this store and has not settled it.
    func isRestored() throws(AuthorityError) -> Bool
    /// Forgets all gaps, and who is ahead; but not that it was settled, and when.
    func settleGaps(at now: Timestamp) throws(AuthorityError)
    /// When it was settled last; nil where it never was.
    func settledAt() throws(AuthorityError) -> Timestamp?
    /// Notes that every session of which `time` is not after the last use is in use now.
    func noteUse(
        ofAllUsedSince time: Timestamp, at now: Timestamp
    ) throws(AuthorityError)

    /// Whether a board is not yet noted, and there is room for one of its kind.
    func mayNoteAhead(
        _ board: InstallationID, _ sign: AheadBoard.Sign
    ) throws(AuthorityError) -> Bool
    /// False if it is noted already.
    func noteAhead(_ board: AheadBoard) throws(AuthorityError) -> Bool
    func forgetAhead(_ board: InstallationID) throws(AuthorityError)
    func aheadCount() throws(AuthorityError) -> Int
    /// The longest noted first; at most `limit`. Nil is of any sign.
    func aheadBoards(
        limit: Int, of sign: AheadBoard.Sign?
    ) throws(AuthorityError) -> [AheadBoard]
}

extension Authority {
    /// Notes a gap if one ends now. To be called at the start of a service, before it answers
    /// anybody, and each time before the latest time in the store is raised.
    ///
    /// `isAlone`: nobody else serves from the store, so that what it has is of before the gap.
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
                // Where somebody serves, sessions may have been made since it fell back.
                return try transaction.add(gap)
            }
            // What was made after the latest time was noted is known all the same. One that is
            // of the future was made by a clock that was wrong.
            let began = newest < now ? max(gap.began, newest) : gap.began
            try transaction.add(Gap(began: began, ended: gap.ended))
        }
    }

    /// Notes that an operator has put an earlier state back in place. Who was in use then is
    /// taken as in use until now: what they did since is not known, and cannot count as idle.
    package func noteRestored(actor: String) async throws(AuthorityError) {
        let now = clock()
        try await store.transact { transaction throws(AuthorityError) in
            try rules.noteRestored(actor: actor, transaction, at: now)
        }
    }

    /// An operator says that whoever was ahead is set up anew, or given up.
    ///
    /// Returns how many boards were found ahead and are given up; nil where there was no alarm
    /// at all, and nothing was changed.
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
                // Nobody here made its login at the broker, so it goes.
                try transaction.add(.login(found.board, password: false))
            }
            try transaction.settleGaps(at: now)
            try audit(
                "restored.settled", actor, nil, nil,
                "what this store did not issue is unknown to it from now on",
                transaction, at: now)
            return (transaction.choreLines, givenUp)
        }
        for line in done?.lines ?? [] { courier.nudge(line) }
        return done?.givenUp
    }

    package func isRestored() async throws(AuthorityError) -> Bool {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.isRestored()
        }
    }

    private static let shownAhead = 10_000

    /// The boards found ahead of this store, 10,000 at most.
    package func aheadBoards() async throws(AuthorityError) -> [AheadBoard] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.aheadBoards(limit: Self.shownAhead, of: nil)
        }
    }

    /// How many boards were found ahead.
    package func aheadCount() async throws(AuthorityError) -> Int {
        try await store.read { transaction throws(AuthorityError) in try transaction.aheadCount() }
    }

    /// Those of these boards that the store has never heard of, each noted as ahead.
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

    /// Whether anything is on record of a board but that it was not known.
    private func hasHeard(
        of board: InstallationID, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> Bool {
        if try transaction.board(board) != nil { return true }
        return try transaction.entries(AuditQuery(limit: 100, board: board))
            .contains { $0.event != "alarm.\(AheadBoard.Sign.unknown.rawValue)" }
    }

    /// Notes a board that the store does not know, once; true where that is news.
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

    /// Notes that a board is ahead, and says so in the audit log at its first time.
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
    /// What `Authority.noteRestored` does, within a transaction that does more.
    package func noteRestored(
        actor: String, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        let latest = try transaction.latestTime() ?? now
        let newest = try transaction.newestSession() ?? latest
        // One that is of the future was made by a clock that was wrong.
        let began = min(newest < now ? max(latest, newest) : latest, now)
        try transaction.add(Gap(began: began, ended: now, isRestored: true))
        if let idle = lifetimes.idle {
            try transaction.noteUse(ofAllUsedSince: began - idle, at: now)
        }
        try transaction.append(AuditEntry(
            at: now, event: "alarm.restored", actor: actor, board: nil, session: nil,
            detail: "a state of \(began.seconds) was restored; boards may be ahead of it"))
    }
}
