import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// The records that a user kept of boards that are no longer theirs. They can be read until the
/// user deletes them or they are too old.
///
/// Every read is for the caller as the owner, also if the caller is an administrator.
struct FormerBoardRoutes: Sendable {
    let frontend: any AuthorityFrontend
    /// Nil: the authority keeps no data.
    let data: (any DataStore)?

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/former-boards", .session(boards)),
            HTTPRoute(.get, "/former-boards/:iid", .session(board)),
            HTTPRoute(.delete, "/former-boards/:iid", .session(delete)),
            HTTPRoute(.get, "/former-boards/:iid/newest", .session(newest)),
            HTTPRoute(.get, "/former-boards/:iid/series", .session(series)),
        ]
    }

    private func boards(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        guard let data else { return .results([]) }
        let kept = try await data.boards(of: caller.user.objectID)
        var forms: [JSONValue] = []
        for board in try await frontend.formerBoards(among: kept, by: caller) {
            // Its last records may have gone meanwhile.
            guard let form = try await form(of: board, caller, data) else { continue }
            forms.append(.object(form))
        }
        return .results(forms)
    }

    private func board(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let (board, data) = try await former(in: call, by: caller)
        guard let form = try await form(of: board, caller, data) else { throw .noObject }
        return Answer(form)
    }

    private func delete(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("iid", InstallationID.init)
        guard let data, try await edge(of: id, caller, data, isLast: true) != nil else {
            throw .noObject
        }
        try await data.delete(try await frontend.dataDeletion(of: id, by: caller))
        return Answer(["installationId": .string(id.description)])
    }

    private func newest(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let (board, data) = try await former(in: call, by: caller)
        let values = try await data.newest(
            of: board.installation, owner: caller.user.objectID)
        return Answer(newest: values, isKept: true)
    }

    private func series(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let read = try SeriesRead(call)
        let (board, data) = try await former(in: call, by: caller)
        return try await read.answer(
            Lineage(owner: caller.user.objectID, boards: [board.installation]), from: data)
    }

    private func former(
        in call: Call, by caller: Caller
    ) async throws(AuthorityError) -> (FormerBoard, any DataStore) {
        let id = try call.parameter("iid", InstallationID.init)
        guard let data, let board = try await frontend.formerBoards(among: [id], by: caller).first
        else { throw .noObject }
        return (board, data)
    }

    /// Nil if the caller has no record of it.
    private func form(
        of board: FormerBoard, _ caller: Caller, _ data: any DataStore
    ) async throws(AuthorityError) -> [String: JSONValue]? {
        let id = board.installation
        guard let first = try await edge(of: id, caller, data, isLast: false),
            let last = try await edge(of: id, caller, data, isLast: true)
        else { return nil }
        return [
            "installationId": .string(id.description),
            "name": board.name.map(JSONValue.string) ?? .null,
            "firstRecord": .time(first), "lastRecord": .time(last),
        ]
    }

    /// When the caller's first or last record of a board was written.
    private func edge(
        of board: InstallationID, _ caller: Caller, _ data: any DataStore, isLast: Bool
    ) async throws(AuthorityError) -> Timestamp? {
        var query = RecordQuery(owner: caller.user.objectID, limit: 1)
        query.board = board
        query.isDescending = isLast
        return try await data.records(query).first?.writtenAt
    }
}
