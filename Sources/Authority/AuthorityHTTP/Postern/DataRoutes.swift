import AuthorityCore
import Gate
import Hummingbird
import Sessions
import Wire

/// The records that a board sent, page by page, for the user who owned it then, and for people who
/// have a share of it.
struct DataRoutes: Sendable {
    let frontend: any AuthorityFrontend
    /// Nil: the authority keeps no data.
    let data: (any DataStore)?

    /// The most records of a page. A page also ends after `payloadLimit` bytes of payloads.
    static let limit = 1000
    private static let payloadLimit = 1 << 20
    /// How many records are in memory at once, each up to 256 KiB.
    private static let step = 128

    var routes: [HTTPRoute] { [HTTPRoute(.get, "/boards/:iid/records", .session(records))] }

    /// The first page also has the names of the fields that the newest records have.
    private func records(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("iid", InstallationID.init)
        guard let data else {
            throw .refused(Refusal(
                .forbidden, "this authority keeps no data: [data] keep is \"0\""))
        }
        let after = try call.queried("after") { RecordCursor($0, board: id) }
        // A cursor goes on with the records of one owner. So an export that loses its right ends
        // with a refusal, never as if it were complete.
        let isOwn = try call.flag("former") || after.map { $0.owner == nil } == true
        let shared = isOwn ? nil : try await shared(id, with: caller)
        let owner = shared?.owner.objectID ?? caller.user.objectID
        if let giver = after?.owner, giver != shared?.owner.objectID { throw .noObject }
        var query = RecordQuery(owner: owner, limit: Self.step)
        query.board = id
        query.className = try call.queried("class") { ClassName($0) }
        query.classes = shared?.shared?.terms.classes
        if let name = query.className, shared?.shows(name) == false { throw .notShared }
        let time: (String) -> Timestamp? = { text in
            Int64(text).flatMap { $0 >= 0 ? Timestamp(milliseconds: $0) : nil }
        }
        query.since = try call.queried("since", time)
        query.until = try call.queried("until", time)
        query.after = after?.position
        let isFirst = query.after == nil
        let (page, isMore) = try await read(query, from: data)
        // A former owner may have records of a board that is somebody else's now.
        if page.isEmpty, isFirst { _ = try await frontend.board(id, by: caller) }
        var members: [String: JSONValue] = [
            "results": .array(page.map { .object($0.form) }), "next": .null,
        ]
        if isMore, let last = page.last {
            members["next"] = .string(
                RecordCursor(RecordPosition(last), owner: shared?.owner.objectID).text)
        }
        if isFirst {
            let newest = try await data.newest(of: id, owner: owner)
            let names = Set(newest.lazy.filter {
                (query.className == nil || $0.className == query.className)
                    && shared?.shows($0.className) != false
            }.map(\.field))
            members["fields"] = .array(names.sorted().map(JSONValue.string))
        }
        return Answer(members)
    }

    /// The board if its owner shares it with the caller. It is read again for each page.
    private func shared(
        _ id: InstallationID, with caller: Caller
    ) async throws(AuthorityError) -> Board? {
        do throws(AuthorityError) {
            let board = try await frontend.board(id, by: caller).board
            return board.shared == nil ? nil : board
        } catch {
            guard case .refused(let refusal) = error, refusal.code == ErrorCode.notFound.rawValue
            else { throw error }
            return nil
        }
    }

    private func read(
        _ query: RecordQuery, from data: any DataStore
    ) async throws(AuthorityError) -> (page: [DataRecord], isMore: Bool) {
        var query = query
        var page: [DataRecord] = []
        var bytes = 0
        while page.count < Self.limit, bytes < Self.payloadLimit {
            let found = try await data.records(query)
            for record in found {
                guard page.count < Self.limit, bytes < Self.payloadLimit else {
                    return (page, true)
                }
                page.append(record)
                bytes += record.payload.count
            }
            guard found.count == Self.step, let last = found.last else { return (page, false) }
            query.after = RecordPosition(last)
        }
        return (page, true)
    }
}

/// Where the next page begins: `<milliseconds>-<sequence>`, and `-<user id>` for the records of an
/// owner who shares the board with the caller. It gives no rights.
private struct RecordCursor {
    let position: RecordPosition
    /// Nil: the records are the caller's own.
    let owner: UserID?

    init(_ position: RecordPosition, owner: UserID?) {
        (self.position, self.owner) = (position, owner)
    }

    init?(_ text: String, board: InstallationID) {
        let parts = text.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let time = Int64(parts[0]),
            let sequence = Int64(parts[1]), time >= 0, sequence >= 0
        else { return nil }
        owner = parts.count == 3 ? UserID(String(parts[2])) : nil
        guard parts.count == 2 || owner != nil else { return nil }
        position = RecordPosition(
            writtenAt: Timestamp(milliseconds: time), board: board, sequence: sequence)
    }

    var text: String {
        let place = "\(position.writtenAt.milliseconds)-\(position.sequence)"
        return owner.map { "\(place)-\($0)" } ?? place
    }
}

extension DataRecord {
    /// A payload that is not text is in `payloadBase64`, as in `postern watch --json`.
    fileprivate var form: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "seq": .integer(sequence), "ts": .integer(writtenAt.milliseconds),
            "receivedAt": .integer(receivedAt.milliseconds), "late": .bool(isLate),
            "app": .string(app.description), "class": .string(path.className.description),
            "op": .string(path.operation.rawValue),
        ]
        if let record = path.record ?? RecordID(created: board, sequence: sequence) {
            members["objectId"] = .string(record.description)
        }
        if let text = String(validating: payload, as: UTF8.self) {
            members["payload"] = .string(text)
        } else {
            members["payloadBase64"] = .string(Base64URL.encode(payload))
        }
        return members
    }
}
