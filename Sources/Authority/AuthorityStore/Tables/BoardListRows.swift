import AuthorityCore
import PostgreSQLClient
import Sessions
import Wire

/// Lists of boards, filtered, sorted and cut by the database.
extension StoreTransaction {
    func boards(
        _ query: BoardQuery, of owner: UserID?, _ times: AttentionTimes
    ) throws(AuthorityError) -> [RankedBoard] {
        var statement = ListStatement(query, of: owner, times, dialect, isPage: true)
        let isSorted = query.order == .attention
        let order = isSorted ? "attention, name_key, id" : "name_key, id"
        var rest = ""
        if isSorted, let after = query.after {
            let attention = statement.bind((after.attention ?? .alert).rawValue)
            rest = "WHERE (\(order)) > (CAST(\(attention) AS BIGINT), \(statement.place(after)))"
        }
        let found = try rows(
            """
            SELECT * FROM (\(statement.boards)) AS listed \(rest)
            ORDER BY \(order) LIMIT \(statement.bind(query.limit))
            """, statement.values)
        return try map(found) { row throws(AuthorityError) in
            guard let attention = BoardAttention(rawValue: try row.value("attention")) else {
                throw damaged("attention")
            }
            return RankedBoard(record: try readBoard(row), attention: attention)
        }
    }

    func boardCounts(
        _ query: BoardQuery, of owner: UserID?, _ times: AttentionTimes
    ) throws(AuthorityError) -> BoardCounts {
        let statement = ListStatement(query, of: owner, times, dialect, isPage: false)
        let found = try row(
            """
            SELECT count(*) AS boards, count(up) AS up,
                count(CASE WHEN attention = 0 THEN 1 END) AS alert,
                count(CASE WHEN attention = 1 THEN 1 END) AS session,
                count(CASE WHEN attention = 2 THEN 1 END) AS offline
            FROM (\(statement.boards)) AS listed
            """, statement.values)
        guard let found else { return BoardCounts() }
        return BoardCounts(
            all: try found.value("boards"), online: try found.value("up"),
            needing: [
                .alert: try found.value("alert"), .session: try found.value("session"),
                .offline: try found.value("offline"),
            ])
    }

    func boardLabels(of owner: UserID?) throws(AuthorityError) -> [BoardLabel: Int] {
        let condition = owner == nil ? "" : "owner = ? AND"
        let found = try rows(
            """
            SELECT labels, count(*) AS number FROM boards
            WHERE \(condition) labels <> '' AND NOT released GROUP BY labels
            ORDER BY labels LIMIT \(Self.piece)
            """, owner.map { [$0.description] } ?? [])
        var counts: [BoardLabel: Int] = [:]
        for row in found {
            let number: Int = try row.value("number")
            for label in try labels(in: row) { counts[label, default: 0] += number }
        }
        return counts
    }

    static func text(of labels: [BoardLabel]) -> String {
        labels.isEmpty ? "" : " \(labels.map(\.description).joined(separator: " ")) "
    }

    func labels(in row: SQLRow) throws(AuthorityError) -> [BoardLabel] {
        let text: String = try row.value("labels")
        var labels: [BoardLabel] = []
        for part in text.split(separator: " ") {
            guard let label = BoardLabel(String(part)) else { throw damaged("labels") }
            labels.append(label)
        }
        return labels
    }
}

/// The SELECT of the boards that match a query, each with what it needs from a person.
///
/// Boards are chosen by their names first, so that only so many are compared with their sessions
/// and alerts: those of the page, or the first `BoardQuery.mostRanked`.
private struct ListStatement {
    private(set) var boards = ""
    private(set) var values: [(any SQLBindable)?] = []

    init(
        _ query: BoardQuery, of owner: UserID?, _ times: AttentionTimes, _ dialect: SQLDialect,
        isPage: Bool
    ) {
        let rank = rank(times)
        let isByName = isPage && query.order == .name
        let conditions = conditions(
            query, of: owner, dialect, after: isByName ? query.after : nil,
            at: times.now)
        let most = bind(isByName ? query.limit : BoardQuery.mostRanked)
        // A status is searched as in `StoreTally`.
        boards = """
            SELECT chosen.*, statuses.installation_id AS up,
                CAST(\(rank) AS BIGINT) AS attention
            FROM (
                SELECT * FROM boards WHERE \(conditions.joined(separator: " AND "))
                ORDER BY name_key, id LIMIT \(most)
            ) AS chosen
            LEFT JOIN statuses ON statuses.installation_id = chosen.id
                AND statuses.status LIKE '%"status":"up"%'
            LEFT JOIN sessions AS living ON living.installation_id = chosen.id
                AND living.state = 'active' AND living.device_key IS NOT NULL
            """
    }

    /// The boards that others share with a user.
    private mutating func shared(with user: String, at now: Timestamp) -> String {
        """
        SELECT shares.installation_id FROM shares JOIN boards AS given
            ON given.id = shares.installation_id AND given.owner = shares.owner_id
        JOIN users AS giver ON giver.id = shares.owner_id AND giver.enabled
        WHERE shares.user_id = \(user)
            AND (shares.until IS NULL OR shares.until > \(bind(now.milliseconds)))
        """
    }

    private mutating func conditions(
        _ query: BoardQuery, of owner: UserID?, _ dialect: SQLDialect, after: BoardPosition?,
        at now: Timestamp
    ) -> [String] {
        var conditions = ["NOT released"]
        if let owner {
            let user = bind(owner.description)
            conditions.append(
                query.withShared
                    ? "(owner = \(user) OR id IN (\(shared(with: user, at: now))))"
                    : "owner = \(user)")
            // Labels are the owner's alone.
            if query.withShared, query.label != nil { conditions.append("owner = \(user)") }
        }
        if let label = query.label {
            let text = bind(StoreTransaction.text(of: [label]))
            conditions.append("labels <> ''")
            conditions.append("\(dialect.place(of: text, in: "labels")) > 0")
        }
        if let search = query.search {
            let text = bind(search.key)
            conditions.append("""
                (\(dialect.place(of: text, in: "name_key")) > 0
                    OR \(dialect.place(of: text, in: "id")) = 1)
                """)
        }
        if let after { conditions.append("(name_key, id) > (\(place(after)))") }
        return conditions
    }

    /// A placeholder for the value.
    mutating func bind(_ value: any SQLBindable) -> String {
        values.append(value)
        return "?\(values.count)"
    }

    /// Placeholders for a board's name and id.
    mutating func place(_ position: BoardPosition) -> String {
        "\(bind(position.nameKey)), \(bind(position.board.description))"
    }

    /// The raw value of `BoardAttention`.
    private mutating func rank(_ times: AttentionTimes) -> String {
        """
        CASE WHEN EXISTS (
            SELECT 1 FROM alerts WHERE alerts.subject = chosen.id AND resolved_at IS NULL
                AND opened_at >= chosen.owned_since
                AND kind NOT IN ('session-ending', 'session-expired')) THEN 0
        WHEN living.id IS NULL OR \(Self.isEnding(times, at: bind(times.now.milliseconds))) THEN 1
        WHEN statuses.installation_id IS NULL THEN 2
        ELSE 3 END
        """
    }

    /// Whether it is time to announce the end of the living session: as `SessionOutlook.warning`,
    /// where the earliest end decides.
    private static func isEnding(_ times: AttentionTimes, at now: String) -> String {
        let (made, never) = ("living.created_at", "\(Int64.max)")
        let expiry = "coalesce(living.expires_at, \(never))"
        var limit = "living.absolute_limit"
        if let absolute = times.absolute {
            let present = "\(made) + \(milliseconds(absolute))"
            limit = "CASE WHEN \(limit) < \(present) THEN \(limit) ELSE \(present) END"
        }
        var (idle, idleNotice) = (never, "0")
        if let span = times.idle {
            idle = "living.last_seen + \(milliseconds(span))"
            idleNotice = "\(milliseconds(SessionOutlook.notice(of: span)))"
        }
        return """
            CASE WHEN \(expiry) <= (\(limit)) AND \(expiry) <= \(idle)
                THEN \(expiry) - \(now) <= \(notice(of: "\(expiry) - \(made)"))
            WHEN (\(limit)) <= \(idle)
                THEN (\(limit)) - \(now) <= \(notice(of: "(\(limit)) - \(made)"))
            ELSE \(idle) - \(now) <= \(idleNotice) END
            """
    }

    /// `SessionOutlook.notice` of a span in milliseconds.
    private static func notice(of span: String) -> String {
        let cases = SessionOutlook.warningDays.reversed().map { days in
            let ahead = milliseconds(.seconds(Int64(days) * 86_400))
            return "WHEN \(span) > \(ahead) THEN \(ahead)"
        }
        return "CASE \(cases.joined(separator: " ")) ELSE 0 END"
    }

    private static func milliseconds(_ span: Duration) -> Int64 {
        (Timestamp(milliseconds: 0) + span).milliseconds
    }
}
