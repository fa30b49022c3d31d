import AuthorityCore
import Gate
import Sessions
import Wire

/// Answers queries: chooses the members, and puts objects in the place of pointers that the query
/// includes.
///
/// A pointer stays if its object does not exist, or if the caller could not read it by a route.
///
/// Source: Parse REST guide, Relational queries.
struct QueryAnswers: Sendable {
    let frontend: any AuthorityFrontend
    /// Nil: the authority keeps no data.
    let data: (any DataStore)?
    let permissions: ClassPermissions

    /// `{"results"}` of one page, and the number of all objects that match if the query counts.
    func list(
        _ forms: [[String: JSONValue]], count: Int? = nil, to query: ParseQuery, _ call: Call,
        by caller: Caller?
    ) async throws(AuthorityError) -> Answer {
        let shown = try await including(forms, query, call, caller)
        var members: [String: JSONValue] = ["results": .array(shown.map(JSONValue.object))]
        if let count { members["count"] = .integer(Int64(count)) }
        return Answer(members)
    }

    func one(
        _ form: [String: JSONValue], to query: ParseQuery, _ call: Call, by caller: Caller?
    ) async throws(AuthorityError) -> Answer {
        Answer(try await including([form], query, call, caller).first ?? [:])
    }

    private func including(
        _ forms: [[String: JSONValue]], _ query: ParseQuery, _ call: Call, _ caller: Caller?
    ) async throws(AuthorityError) -> [[String: JSONValue]] {
        let shown = forms.map(query.shown)
        guard !query.includes.isEmpty else { return shown }
        var values = shown.map(JSONValue.object)
        var included = IncludedObjects()
        var shares: [ShareRecord]?
        for path in query.includes {
            let new = try included.new(in: values, at: path)
            for (className, pointers) in Dictionary(grouping: new, by: \.className) {
                let ids = pointers.map(\.id)
                included.add(
                    try await read(className, ids, call, caller, &shares), of: className)
            }
            for index in values.indices {
                values[index] = try included.put(into: values[index], at: path[...])
            }
        }
        return values.map { query.shown($0.asObject ?? [:]) }
    }

    /// The objects with these ids that the caller may read.
    private func read(
        _ className: String, _ ids: [String], _ call: Call, _ caller: Caller?,
        _ shares: inout [ShareRecord]?
    ) async throws(AuthorityError) -> [String: [String: JSONValue]] {
        switch className {
        case "_User", "_Session", "_Installation":
            return try await each(ids) { id throws(AuthorityError) in
                try await object(className, id, call, caller)
            }
        case "_Role":
            // To read one role, the core reads all of them.
            let roles = try await frontend.roles(by: caller).map(\.role)
            let found = roles.filter { ids.contains($0.objectID.description) }
            return Dictionary(
                found.map { ($0.objectID.description, $0.parseForm) },
                uniquingKeysWith: { first, _ in first })
        default: return try await objects(className, ids, caller, &shares)
        }
    }

    private func each(
        _ ids: [String], _ read: (String) async throws(AuthorityError) -> [String: JSONValue]?
    ) async throws(AuthorityError) -> [String: [String: JSONValue]] {
        let unseen = [ErrorCode.notFound, .forbidden].map(\.rawValue)
        var found: [String: [String: JSONValue]] = [:]
        for id in ids {
            do throws(AuthorityError) {
                found[id] = try await read(id)
            } catch {
                guard case .refused(let refusal) = error, unseen.contains(refusal.code) else {
                    throw error
                }
            }
        }
        return found
    }

    /// A session if the caller may find sessions. Nobody sees the `authData` of a user here.
    private func object(
        _ className: String, _ id: String, _ call: Call, _ caller: Caller?
    ) async throws(AuthorityError) -> [String: JSONValue]? {
        if className == "_User" {
            guard let caller, let id = UserID(id) else { return nil }
            return try await frontend.visibleUser(id, by: caller).parseForm
        }
        guard let id = ObjectID(id) else { return nil }
        if className == "_Installation" {
            let installation = try call.installation()
            return try await frontend.installation(id, at: installation, by: caller).parseForm
        }
        guard let caller, permissions.allows(.find) || caller.isMaster || call.isMaster else {
            return nil
        }
        return try await frontend.presentSession(id, by: caller).parseForm
    }

    /// Objects that boards of the caller wrote, and those that are shared with the caller.
    private func objects(
        _ className: String, _ ids: [String], _ caller: Caller?, _ shares: inout [ShareRecord]?
    ) async throws(AuthorityError) -> [String: [String: JSONValue]] {
        guard let caller, let data, let name = ClassName(className), !name.isReserved else {
            return [:]
        }
        let owner = caller.user.objectID
        let readable = ReadableObjects(frontend: frontend, data: data)
        let found = try await readable.objects(
            Set(ids.compactMap { RecordID($0) }), of: name, by: caller, &shares)
        guard let found else { throw IncludedObjects.tooMuch }
        let forms = found.map { ($0.id.description, $0.parseForm(of: owner)) }
        return Dictionary(forms, uniquingKeysWith: { first, _ in first })
    }
}
