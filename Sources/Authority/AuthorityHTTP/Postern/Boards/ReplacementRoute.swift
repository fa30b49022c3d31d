import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// `POST /boards/:iid/replace` with `{"by": iid}`: another board takes the place of this one.
/// `GET /boards/:iid/configuration`: the rules that would go to it.
struct ReplacementRoute: Sendable {
    let frontend: any AuthorityFrontend
    let data: (any DataStore)?

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/boards/:iid/replace", .session(replace)),
            HTTPRoute(.get, "/boards/:iid/configuration", .session(configuration)),
        ]
    }

    private func configuration(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let board = try call.parameter("iid", InstallationID.init)
        let kept = try await frontend.configuration(of: board, by: caller)
        var members = kept.configuration.members
        members["savedAt"] = .time(kept.savedAt)
        return Answer(members)
    }

    private func replace(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let old = try call.parameter("iid", InstallationID.init)
        let json = try call.json()
        let new = try reading { () throws(WireError) in
            try json.parsed("by", InstallationID.init)
        }
        let owner = try await frontend.board(old, by: caller).board.owner.objectID
        let done = try await frontend.replace(
            old, by: new, lastArrived: await lastArrived(from: old, owner), for: caller)
        var members = done.replaced.form
        members["by"] = .string(new.description)
        members["configuration"] = .bool(done.hasConfiguration)
        if !done.isBrokerTold { members["brokerTold"] = .bool(false) }
        return Answer(members)
    }

    /// Nil if there is none, or if the records cannot be read: a stolen board must be cut off all
    /// the same.
    private func lastArrived(from board: InstallationID, _ owner: UserID) async -> Int64? {
        guard let data else { return nil }
        var query = RecordQuery(owner: owner, limit: 1)
        query.board = board
        query.isDescending = true
        do throws(AuthorityError) {
            return try await data.records(query).first?.sequence
        } catch {
            return nil
        }
    }
}

extension ReplacedBoard {
    var form: [String: JSONValue] {
        [
            "installationId": .string(installation.description), "replacedAt": .time(replacedAt),
            "lost": .object([
                "waited": lost.waited.map(JSONValue.integer) ?? .null,
                "after": lost.after.map(JSONValue.integer) ?? .null,
            ]),
        ]
    }
}
