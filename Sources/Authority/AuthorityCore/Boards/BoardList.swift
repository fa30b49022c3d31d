package import Sessions
package import Wire

/// Why a board needs a person, the most urgent first. The raw values order a list.
package enum BoardAttention: Int64, Sendable, CaseIterable {
    /// It has an open alert about anything but the end of its session.
    case alert = 0
    /// It has no session, or its session ends soon.
    case session = 1
    /// It is not connected.
    case offline = 2
    case none = 3

    package var name: String? {
        switch self {
        case .alert: "alert"
        case .session: "session"
        case .offline: "offline"
        case .none: nil
        }
    }
}

/// A part of a board's name, or the beginning of its id: 1 to 64 visible characters.
package struct BoardSearch: Equatable, Sendable {
    /// In lower case, as `BoardRecord.nameKey`.
    package let key: String

    package init?(_ text: String) {
        guard let name = BoardName(text) else { return nil }
        key = BoardRecord.nameKey(of: name.description)
    }
}

/// A place in a sorted list of boards: the values of the last board that was read. A board that is
/// gone leaves no gap, and a new one moves nothing.
package struct BoardPosition: Equatable, Sendable {
    /// Nil in a list sorted by name.
    package let attention: BoardAttention?
    package let nameKey: String
    package let board: InstallationID

    package init(attention: BoardAttention?, nameKey: String, board: InstallationID) {
        self.attention = attention
        self.nameKey = nameKey
        self.board = board
    }
}

/// A read of one page of a list of boards.
package struct BoardQuery: Equatable, Sendable {
    package enum Order: String, Sendable {
        /// What needs a person first, then by name.
        case attention
        case name
    }

    /// The most boards of one page.
    package static let most = 200
    /// The most boards that are compared by what they need, and counted: the first by their names.
    package static let mostRanked = 10_000

    /// Everyone's; for administrators.
    package var everyone = false
    /// Also the boards that others share with the caller.
    package var withShared = false
    package var search: BoardSearch?
    package var label: BoardLabel?
    package var order = Order.attention
    package var after: BoardPosition?
    /// 1 to `most`.
    package var limit = 100

    package init() {}
}

/// What the ends of sessions are compared with.
package struct AttentionTimes: Equatable, Sendable {
    package let now: Timestamp
    /// The authority's limit from a session's creation.
    package let absolute: Duration?
    /// The authority's limit from a session's last use.
    package let idle: Duration?

    package init(at now: Timestamp, under lifetimes: LifetimePolicy) {
        self.now = now
        absolute = lifetimes.absolute
        idle = lifetimes.idle
    }
}

/// A board's record with its place in a list.
package struct RankedBoard: Sendable {
    package let record: BoardRecord
    package let attention: BoardAttention

    package init(record: BoardRecord, attention: BoardAttention) {
        self.record = record
        self.attention = attention
    }
}

/// The numbers of boards that match a query, up to `BoardQuery.mostRanked`.
package struct BoardCounts: Equatable, Sendable {
    package var all = 0
    package var online = 0
    /// How many need a person, for each reason.
    package var needing: [BoardAttention: Int] = [:]

    package init(all: Int = 0, online: Int = 0, needing: [BoardAttention: Int] = [:]) {
        self.all = all
        self.online = online
        self.needing = needing
    }
}

/// One page of a list of boards.
package struct BoardPage: Sendable {
    package struct Entry: Sendable {
        package let board: Board
        package let attention: BoardAttention

        package init(board: Board, attention: BoardAttention) {
            self.board = board
            self.attention = attention
        }
    }

    package var entries: [Entry] = []
    /// Where the next page begins. Nil: this is the last one.
    package var next: BoardPosition?
    /// Only the first page has them.
    package var counts: BoardCounts?
    /// Every label of the caller's own boards, with their number. Only the first page has it.
    package var labels: [BoardLabel: Int]?

    package init() {}
}

extension Authority {
    /// One page of the caller's own and shared boards, or of all boards for an administrator who
    /// asks for `everyone`. The store filters, sorts and cuts.
    package func boards(
        _ query: BoardQuery, by caller: Caller
    ) async throws(AuthorityError) -> BoardPage {
        let deed: CallKind = query.everyone ? .everyBoard : .ownBoards
        return try await look(deed, by: caller, nothing: .empty) { act throws(AuthorityError) in
            let owner = query.everyone ? nil : act.user.objectID
            let times = AttentionTimes(at: act.now, under: rules.lifetimes)
            var page = BoardPage()
            var query = query
            query.withShared = try owner.map { user throws(AuthorityError) in
                try !act.transaction.shares(with: user).isEmpty
            } ?? false
            var wider = query
            wider.limit = min(max(query.limit, 1), BoardQuery.most) + 1
            let found = try act.transaction.boards(wider, of: owner, times)
            for ranked in found.prefix(wider.limit - 1) {
                guard let right = try act.right(to: ranked.record),
                    let board = try view(
                        of: PermittedBoard(record: ranked.record, right: right), act)
                else { continue }
                page.entries.append(.init(board: board, attention: ranked.attention))
            }
            if found.count == wider.limit { page.next = found.dropLast().last?.place(in: query) }
            if query.after == nil {
                page.counts = try act.transaction.boardCounts(query, of: owner, times)
                page.labels = try act.transaction.boardLabels(of: owner)
            }
            return page
        }
    }
}

extension BoardPage {
    /// What a restricted session sees.
    fileprivate static var empty: Self {
        var page = BoardPage()
        page.counts = BoardCounts()
        page.labels = [:]
        return page
    }
}

extension RankedBoard {
    fileprivate func place(in query: BoardQuery) -> BoardPosition {
        BoardPosition(
            attention: query.order == .attention ? attention : nil, nameKey: record.nameKey,
            board: record.installation)
    }
}
