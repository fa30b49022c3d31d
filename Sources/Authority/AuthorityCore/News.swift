package import Sessions
import Wire

/// A position in the changes of the store. All processes that share the store see the same changes.
package struct ChangePosition: Equatable, Sendable {
    /// The numbers of the last audit entry seen and of the last touch of a board seen.
    var entry: Int64
    var touch: Int64
}

/// The changes since a mark, with the present values.
package struct News: Sendable {
    package var mark: ChangePosition
    /// Whether there are more changes after `mark`.
    package var isPartial = false
    package var entries: [AuditEntry] = []
    /// Changed boards that have an owner.
    package var boards: [Board] = []
    package var claims: [ClaimNews] = []
    /// Users with changed sessions.
    package var users: Set<UserID> = []

    package var isEmpty: Bool {
        entries.isEmpty && boards.isEmpty && claims.isEmpty && users.isEmpty
    }
}

/// A changed claim, and the user who made it.
package struct ClaimNews: Sendable {
    package let claimant: UserID
    package let claim: Claim
}

/// What the callers of open event streams may still receive.
package struct StreamRights: Sendable {
    package let at: Timestamp
    /// The sessions that may receive nothing more.
    package var over: Set<ObjectID> = []
    package var shares: [UserID: [InstallationID: ShareRecord]] = [:]

    init(at now: Timestamp) { at = now }
}

extension Authority {
    /// The present position. `news(since:)` returns only later changes.
    package func newsMark() async throws(AuthorityError) -> ChangePosition {
        try await store.read { transaction throws(AuthorityError) in
            ChangePosition(
                entry: try transaction.newestEntry(), touch: try transaction.newestTouch())
        }
    }

    /// The changes since `mark`: at most 200 audit entries and 200 touches.
    package func news(since mark: ChangePosition) async throws(AuthorityError) -> News {
        let now = clock()
        let limit = 200
        return try await store.read { transaction throws(AuthorityError) in
            var news = News(mark: mark)
            news.entries = try transaction.entries(after: mark.entry, limit: limit)
            let touched = try transaction.touched(after: mark.touch, limit: limit)
            news.mark = ChangePosition(
                entry: news.entries.last?.number ?? mark.entry,
                touch: touched.last?.number ?? mark.touch)
            news.isPartial = news.entries.count == limit || touched.count == limit
            let changed = Set(touched.map(\.board) + news.entries.compactMap(\.board))
            for id in changed {
                guard let record = try transaction.board(id), !record.released,
                    let board = try view(of: record, transaction, at: now)
                else { continue }
                news.boards.append(board)
            }
            try addSessions(to: &news, transaction, at: now)
            return news
        }
    }

    private func addSessions(
        to news: inout News, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        for id in Set(news.entries.compactMap(\.session)) {
            if let record = try transaction.session(id) { news.users.insert(record.session.user) }
        }
        // The names that `makeClaim`, `accept` and `close` write.
        let claimed = news.entries.filter {
            $0.event == "claim" || $0.event == "board.renew" || $0.event.hasPrefix("claim.")
        }
        for id in Set(claimed.compactMap(\.session)) {
            guard let record = try transaction.claim(ofSession: id) else { continue }
            news.claims.append(ClaimNews(claimant: record.claimant, claim: record.view(at: now)))
        }
    }

    /// The sessions that may receive nothing more, and what others share with each user.
    package func streamRights(of callers: [Caller]) async throws(AuthorityError) -> StreamRights {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            var rights = StreamRights(at: now)
            for user in Set(callers.map(\.user.objectID)) {
                var shares: [InstallationID: ShareRecord] = [:]
                for share in try transaction.shares(with: user)
                where !share.terms.hasEnded(at: now) {
                    guard try transaction.user(share.owner)?.isEnabled == true else { continue }
                    shares[share.board] = share
                }
                rights.shares[user] = shares
            }
            for caller in callers {
                let id = caller.session.objectID
                guard let record = try transaction.session(id), record.isOffBoard,
                    record.session.user == caller.user.objectID,
                    record.isLive(at: now, under: rules.lifetimes),
                    try transaction.user(record.session.user)?.isEnabled == true
                else {
                    rights.over.insert(id)
                    continue
                }
            }
            return rights
        }
    }

    /// The present owner of each board. Boards without an owner are left out.
    package func owners(
        of boards: Set<InstallationID>
    ) async throws(AuthorityError) -> [InstallationID: UserID] {
        try await store.read { transaction throws(AuthorityError) in
            var owners: [InstallationID: UserID] = [:]
            for id in boards {
                guard let board = try transaction.board(id), !board.released else { continue }
                owners[id] = board.owner
            }
            return owners
        }
    }
}
