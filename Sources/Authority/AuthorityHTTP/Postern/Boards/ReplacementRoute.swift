import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// `POST /boards/:iid/replace` with `{"by": iid}`: another board takes the place of this one.
struct ReplacementRoute: Sendable {
    let frontend: any AuthorityFrontend
    let data: (any DataStore)?

    var routes: [HTTPRoute] { [HTTPRoute(.post, "/boards/:iid/replace", .session(replace))] }

    private func replace(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let old = try call.parameter("iid", InstallationID.init)
        let json = try call.json()
        let new = try reading { () throws(WireError) in
            try json.parsed("by", InstallationID.init)
        }
        let owner = try await frontend.board(old, by: caller).board.owner.objectID
        let done = try await frontend.replace(
            old, by: new, lastArrived: try await lastArrived(from: old, owner), for: caller)
        var members = done.replaced.form
        members["by"] = .string(new.description)
        if !done.isBrokerTold { members["brokerTold"] = .bool(false) }
        return Answer(members)
    }

    private func lastArrived(
        from board: InstallationID, _ owner: UserID
    ) async throws(AuthorityError) -> Int64? {
        guard let data else { return nil }
        var query = RecordQuery(owner: owner, limit: 1)
        query.board = board
        query.isDescending = true
        return try await data.records(query).first?.sequence
    }
}

extension ReplacedBoard {
    var form: [String: JSONValue] {
        [
            "installationId": .string(installation.description), "replacedAt": .time(replacedAt),
            "lost": lost.map { lost in
                .object([
                    "messages": .integer(lost.count),
                    "first": lost.first.map(JSONValue.integer) ?? .null,
                    "last": lost.last.map(JSONValue.integer) ?? .null,
                ])
            } ?? .null,
        ]
    }
}
