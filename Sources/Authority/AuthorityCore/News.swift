package import Sessions
import Wire

/// How far somebody has looked at what changes in the store. Two processes on one store see
/// the same, whoever made the change.
package struct NewsMark: Equatable, Sendable {
    /// The number of the last audit entry seen, and of the last touch of a board.
    var entry: Int64
    var touch: Int64
}

/// What changed, as it stands now.
package struct News: Sendable {
    package var mark: NewsMark
    /// There is more after `mark`.
    package var isPartial = false
    package var entries: [AuditEntry] = []
    /// Boards that changed and that somebody has.
    package var boards: [Board] = []
    package var claims: [ClaimNews] = []
    /// Whose sessions are not what they were.
    package var users: Set<UserID> = []

    /// Whether there is nothing to tell.
    package var isEmpty: Bool {
        entries.isEmpty && boards.isEmpty && claims.isEmpty && users.isEmpty
    }
}

package struct ClaimNews: Sendable {
    package let claimant: UserID
    package let claim: Claim
}

extension Authority {
    /// Where the store stands now: what is asked for after it is what came later.
    package func newsMark() async throws(AuthorityError) -> NewsMark {
        try await store.read { transaction throws(AuthorityError) in
            NewsMark(
                entry: try transaction.newestEntry(), touch: try transaction.newestTouch())
        }
    }

    /// What changed since `mark`, so much of it as one look takes.
    package func news(since mark: NewsMark) async throws(AuthorityError) -> News {
        let now = clock()
        let limit = 200
        return try await store.read { transaction throws(AuthorityError) in
            var news = News(mark: mark)
            news.entries = try transaction.entries(after: mark.entry, limit: limit)
            let touched = try transaction.touched(after: mark.touch, limit: limit)
            news.mark = NewsMark(
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
        let claimed = news.entries.filter { $0.event == "claim" || $0.event.hasPrefix("claim.") }
        for id in Set(claimed.compactMap(\.session)) {
            guard let record = try transaction.claim(ofSession: id) else { continue }
            news.claims.append(ClaimNews(claimant: record.claimant, claim: record.view(at: now)))
        }
    }

    /// Of these callers, those whose session is over or who may no longer log in.
    package func over(among callers: [Caller]) async throws(AuthorityError) -> Set<ObjectID> {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            var over: Set<ObjectID> = []
            for caller in callers {
                let id = caller.session.objectID
                guard let record = try transaction.session(id), record.isOffBoard,
                    record.session.user == caller.user.objectID,
                    record.isLive(at: now, under: rules.lifetimes),
                    try transaction.user(record.session.user)?.isEnabled == true
                else {
                    over.insert(id)
                    continue
                }
            }
            return over
        }
    }

    /// Whose boards these are now; nobody's are left out.
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
