import AuthorityCore
import PostgreSQLClient
import Sessions

/// Lists of boards, filtered, sorted and cut by the database.
extension StoreTransaction {
    func boards(
        _ query: BoardQuery, of owner: UserID?, _ times: AttentionTimes
    ) throws(AuthorityError) -> [RankedBoard] {
        var statement = ListStatement(query, of: owner, times, dialect)
        let isSorted = query.order == .attention
        let order = isSorted ? "attention, name_key, id" : "name_key, id"
        var rest = ""
        if let after = query.after {
            var places = [statement.bind(after.nameKey), statement.bind(after.board.description)]
            if isSorted {
                let attention = after.attention ?? .alert
                places.insert("CAST(\(statement.bind(attention.rawValue)) AS BIGINT)", at: 0)
            }
            rest = "WHERE (\(order)) > (\(places.joined(separator: ", ")))"
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
        let statement = ListStatement(query, of: owner, times, dialect)
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
            LIMIT \(Self.piece)
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

/// The SELECT of all boards that match a query, each with what it needs from a person.
private struct ListStatement {
    private(set) var boards = ""
    private(set) var values: [(any SQLBindable)?] = []

    init(
        _ query: BoardQuery, of owner: UserID?, _ times: AttentionTimes, _ dialect: SQLDialect
    ) {
        let rank = rank(times)
        var conditions = ["NOT boards.released"]
        if let owner { conditions.append("boards.owner = \(bind(owner.description))") }
        if let label = query.label {
            let text = bind(StoreTransaction.text(of: [label]))
            conditions.append("boards.labels <> ''")
            conditions.append("\(dialect.place(of: text, in: "boards.labels")) > 0")
        }
        if let search = query.search {
            let text = bind(search.key)
            conditions.append("""
                (\(dialect.place(of: text, in: "boards.name_key")) > 0
                    OR \(dialect.place(of: text, in: "boards.id")) = 1)
                """)
        }
        // A status is searched as in `StoreTally`.
        boards = """
            SELECT boards.*, statuses.installation_id AS up,
                CAST(\(rank) AS BIGINT) AS attention
            FROM boards LEFT JOIN statuses ON statuses.installation_id = boards.id
                AND statuses.status LIKE '%"status":"up"%'
            LEFT JOIN sessions AS living ON living.installation_id = boards.id
                AND living.state = 'active' AND living.device_key IS NOT NULL
            WHERE \(conditions.joined(separator: " AND "))
            """
    }

    /// A placeholder for the value.
    mutating func bind(_ value: any SQLBindable) -> String {
        values.append(value)
        return "?\(values.count)"
    }

    /// The raw value of `BoardAttention`. The ends of a session are those of `SessionOutlook`.
    private mutating func rank(_ times: AttentionTimes) -> String {
        let now = bind(times.now.milliseconds)
        let (madeBy, usedBy) = (bind(times.madeBy.milliseconds), bind(times.usedBy.milliseconds))
        let ends = ["expires_at", "absolute_limit"].map { end in
            "living.\(end) - \(now) <= \(Self.notice(of: "living.\(end) - living.created_at"))"
        }
        return """
            CASE WHEN EXISTS (
                SELECT 1 FROM alerts WHERE alerts.subject = boards.id AND resolved_at IS NULL
                    AND opened_at >= boards.owned_since
                    AND kind NOT IN ('session-ending', 'session-expired')) THEN 0
            WHEN living.id IS NULL OR living.created_at <= \(madeBy)
                OR living.last_seen <= \(usedBy) OR \(ends.joined(separator: " OR ")) THEN 1
            WHEN statuses.installation_id IS NULL THEN 2
            ELSE 3 END
            """
    }

    /// `SessionOutlook.notice` of a span in milliseconds.
    private static func notice(of span: String) -> String {
        let cases = SessionOutlook.warningDays.reversed().map { days in
            let ahead = Int64(days) * 86_400_000
            return "WHEN \(span) > \(ahead) THEN \(ahead)"
        }
        return "CASE \(cases.joined(separator: " ")) ELSE 0 END"
    }
}
