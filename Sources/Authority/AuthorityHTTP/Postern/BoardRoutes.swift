import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Boards: the list, one board, its timeline, and its live data.
struct BoardRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let live: (any LiveFeed)?
    let data: (any DataStore)?

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/boards", .session(boards)),
            HTTPRoute(.get, "/boards/:iid", .session(board)),
            HTTPRoute(.put, "/boards/:iid", .session(change)),
            HTTPRoute(.delete, "/boards/:iid", .session(release)),
            HTTPRoute(.get, "/boards/:iid/timeline", .session(timeline)),
            HTTPRoute(.get, "/boards/:iid/live", .session(liveData)),
            HTTPRoute(.get, "/live", .session(charts)),
        ] + ReplacementRoute(frontend: frontend, data: data).routes
    }

    private func boards(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        guard !BoardListRoute.isAsked(by: call) else {
            return try await BoardListRoute(frontend: frontend, live: live, data: data)
                .answer(call, by: caller)
        }
        let boards = try await frontend.boards(by: caller, everyone: try call.everyone())
        return .results(boards.map { .object(form(of: $0)) })
    }

    private func board(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let detail = try await frontend.board(try id(in: call), by: caller)
        return Answer(form(of: detail.board).merging(detail.extraForm) { $1 })
    }

    /// `{"name": text, "labels": [text]}`, or one of them. Labels replace those before; instead of
    /// `labels`, `addLabels` and `removeLabels` leave others as they are.
    private func change(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try id(in: call)
        let json = try call.json()
        let change = try reading { () throws(WireError) in
            BoardChange(
                name: try json.optional("name") { $0.asString.flatMap(BoardName.init) },
                labels: try Self.labels(in: json))
        }
        guard change != BoardChange() else {
            throw .refused(
                Refusal(.validation, "the request changes neither the name nor the labels"))
        }
        return Answer(form(of: try await frontend.change(id, change, by: caller)))
    }

    private static func labels(
        in json: JSONObject
    ) throws(WireError) -> BoardChange.Labels? {
        let all = try json.optional("labels", labelSet)
        let added = try json.optional("addLabels", labelSet)
        let removed = try json.optional("removeLabels", labelSet)
        guard added != nil || removed != nil else { return all.map { .set($0) } }
        guard all == nil else { throw .mistyped("labels") }
        return .change(adding: added ?? [], removing: removed ?? [])
    }

    private static func labelSet(_ value: JSONValue) -> Set<BoardLabel>? {
        guard let values = value.asArray, values.count <= BoardLabel.most else { return nil }
        let labels = values.compactMap { $0.asString.flatMap(BoardLabel.init) }
        return labels.count == values.count ? Set(labels) : nil
    }

    /// The board's records are deleted, unless `?keepData=true` leaves them with their owner. They
    /// are deleted first, so that an answer of success means that they are gone.
    private func release(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try id(in: call)
        if try !call.flag("keepData"), let data {
            for release in try await frontend.dataReleases(of: id, by: caller) {
                try await data.delete(release)
            }
        }
        return Answer(isBrokerTold: try await frontend.release(id, by: caller))
    }

    private func timeline(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let entries = try await frontend.timeline(of: try id(in: call), by: caller)
        return .results(entries.map { .object($0.form) })
    }

    private func liveData(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try id(in: call)
        let board = try await frontend.board(id, by: caller).board
        guard let live else { throw .noObject }
        live.keepToOwner(of: board)
        return Answer(live.live(of: id).shown(of: board).form(of: id))
    }

    /// `?everyone=true`, as in the list of boards.
    private func charts(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let boards = try await frontend.boards(by: caller, everyone: try call.everyone())
        guard let live else { return Answer(["boards": .array([])]) }
        return Answer(["boards": .array(boards.map { board in
            live.keepToOwner(of: board)
            let shown = board.showsActivity ? live : nil
            return .object([
                "installationId": .string(board.installation.description),
                "lastDataMs": .optionalMilliseconds(shown?.lastData(of: board.installation)),
                "minutes": shown?.minutes(of: board.installation).form ?? .null,
                "arrival": shown?.arrival(of: board.installation)?.form ?? .null,
            ])
        })])
    }

    private func id(in call: Call) throws(AuthorityError) -> InstallationID {
        try call.parameter("iid", InstallationID.init)
    }

    private func form(of board: Board) -> [String: JSONValue] {
        live?.keepToOwner(of: board)
        return board.form(lastData: live?.lastData(of: board.installation))
    }
}
