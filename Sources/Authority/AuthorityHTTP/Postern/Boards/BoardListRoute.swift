import AuthorityCore
import Sessions
import Wire

/// One page of a list of boards: `GET /boards` with any of `search`, `label`, `sort`, `limit` and
/// `cursor`. Without them the route answers with the whole list.
///
/// `live=true` adds what each board has sent: the minutes of the last hour, and its newest values.
struct BoardListRoute: Sendable {
    let frontend: any AuthorityFrontend
    let live: (any LiveFeed)?
    let data: (any DataStore)?

    /// The newest values of each board.
    private static let newest = 3
    /// The most boards of one page with what each has sent: each needs a read of its own.
    private static let mostLive = 50
    private static let parameters = ["search", "label", "sort", "limit", "cursor", "live"]

    static func isAsked(by call: Call) -> Bool {
        parameters.contains { call.options[$0] != nil }
    }

    func answer(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        var query = try Self.query(in: call)
        let isLive = try call.flag("live")
        if isLive { query.limit = min(query.limit, Self.mostLive) }
        let page = try await frontend.boards(query, by: caller)
        var results: [JSONValue] = []
        for entry in page.entries {
            live?.keepToOwner(of: entry.board)
            var members = entry.board.form(
                lastData: live?.lastData(of: entry.board.installation))
            members["attention"] = entry.attention.name.map(JSONValue.string) ?? .null
            if isLive { members["live"] = await content(of: entry.board) }
            results.append(.object(members))
        }
        var members: [String: JSONValue] = [
            "results": .array(results),
            "next": page.next.map { .string($0.text) } ?? .null,
        ]
        members["counts"] = page.counts?.form
        members["labels"] = page.labels.map { labels in
            .array(labels.sorted { $0.key < $1.key }.map { label, count in
                .object(["label": .string(label.description), "count": .integer(Int64(count))])
            })
        }
        return Answer(members)
    }

    private static func query(in call: Call) throws(AuthorityError) -> BoardQuery {
        var query = BoardQuery()
        query.everyone = try call.everyone()
        query.search = try call.queried("search", BoardSearch.init)
        query.label = try call.queried("label", BoardLabel.init)
        query.order = try call.queried("sort", BoardQuery.Order.init(rawValue:)) ?? .attention
        query.limit = try call.queried("limit") { text in
            Int(text).flatMap { (1...BoardQuery.most).contains($0) ? $0 : nil }
        } ?? 100
        let order = query.order
        query.after = try call.queried("cursor") { BoardPosition($0, in: order) }
        return query
    }

    private func content(of board: Board) async -> JSONValue {
        let id = board.installation
        let shown = board.showsActivity ? live : nil
        return .object([
            "minutes": shown?.minutes(of: id).form ?? .null,
            "arrival": shown?.arrival(of: id)?.form ?? .null,
            "newest": .array(await newest(of: board).map { .object($0.form) }),
        ])
    }

    /// From memory if no data is kept, or if its store fails: the list of boards does not need it.
    private func newest(of board: Board) async -> [NewestValue] {
        let id = board.installation
        if let data {
            do throws(AuthorityError) {
                let limit = board.showsActivity ? Self.newest : NewestValue.limit
                let found = try await data.newest(
                    of: id, owner: board.owner.objectID, limit: limit)
                return Array(found.shown(of: board).prefix(Self.newest))
            } catch {}
        }
        let found = (live?.live(of: id).newest ?? []).shown(of: board)
        return Array(found.prefix(Self.newest))
    }
}

extension BoardPosition {
    private static let longest = 2048

    /// The cursor of the next page: `<order>.<id>.<name>`. It holds values and gives no rights.
    var text: String {
        let order = attention.map { "\($0.rawValue)" } ?? "n"
        return "\(order).\(board).\(Base64URL.encode(Array(nameKey.utf8)))"
    }

    /// Nil if it is not a cursor of a list in this order.
    init?(_ text: String, in order: BoardQuery.Order) {
        guard text.utf8.count <= Self.longest else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let board = InstallationID(String(parts[1])),
            let bytes = Base64URL.decode(String(parts[2])), !bytes.contains(0),
            let name = String(validating: bytes, as: UTF8.self)
        else { return nil }
        switch order {
        case .name:
            guard parts[0] == "n" else { return nil }
            self.init(attention: nil, nameKey: name, board: board)
        case .attention:
            guard let attention = Int64(parts[0]).flatMap(BoardAttention.init(rawValue:)) else {
                return nil
            }
            self.init(attention: attention, nameKey: name, board: board)
        }
    }
}

extension BoardCounts {
    fileprivate var form: JSONValue {
        func number(_ attention: BoardAttention) -> JSONValue {
            .integer(Int64(needing[attention] ?? 0))
        }
        return .object([
            "all": .integer(Int64(all)), "online": .integer(Int64(online)),
            "alert": number(.alert), "session": number(.session), "offline": number(.offline),
        ])
    }
}
