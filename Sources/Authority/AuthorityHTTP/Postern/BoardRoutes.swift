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
        ]
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

    /// `{"name": text, "labels": [text]}`, one of them or both. Labels replace those before.
    private func change(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try id(in: call)
        let json = try call.json()
        let (name, labels) = try reading { () throws(WireError) in
            let labels = try json.optional("labels", Self.labels)
            return (
                labels != nil && json.members["name"] == nil
                    ? nil : try json.parsed("name", BoardName.init), labels)
        }
        var board: Board?
        if let name { board = try await frontend.rename(id, to: name, by: caller) }
        if let labels { board = try await frontend.label(id, labels, by: caller) }
        guard let board else { throw .noObject }
        return Answer(form(of: board))
    }

    private static func labels(_ value: JSONValue) -> [BoardLabel]? {
        guard let values = value.asArray, values.count <= BoardLabel.most else { return nil }
        let labels = values.compactMap { $0.asString.flatMap(BoardLabel.init) }
        return labels.count == values.count ? labels : nil
    }

    /// The board's records are deleted, unless `?keepData=true` leaves them with their owner. They
    /// are deleted first, so that an answer of success means that they are gone.
    private func release(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try id(in: call)
        if try !call.flag("keepData"), let data {
            try await data.delete(try await frontend.dataRelease(of: id, by: caller))
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
        return Answer(live.live(of: id).form(of: id))
    }

    /// `?everyone=true`, as in the list of boards.
    private func charts(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let boards = try await frontend.boards(by: caller, everyone: try call.everyone())
        guard let live else { return Answer(["boards": .array([])]) }
        return Answer(["boards": .array(boards.map { board in
            live.keepToOwner(of: board)
            return .object([
                "installationId": .string(board.installation.description),
                "lastDataMs": .optionalMilliseconds(live.lastData(of: board.installation)),
                "minutes": live.minutes(of: board.installation).form,
                "arrival": live.arrival(of: board.installation)?.form ?? .null,
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
