import AuthorityCore
import Gate
import Hummingbird
import Sessions
import Wire

/// Parse's routes for objects of any other class: the objects that the boards of the caller wrote,
/// and those that are shared with the caller. Boards alone write them.
///
/// Source: Parse REST guide, Objects and Queries.
struct ClassRoutes: Sendable {
    /// Nil: the authority keeps no data.
    let data: (any DataStore)?
    let answers: QueryAnswers

    /// The most objects that one query sorts by another member than a time.
    static let sortLimit = 10_000

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/classes/:class", .session(objects)),
            HTTPRoute(.post, "/classes/:class", .session(refuse)),
            HTTPRoute(.get, "/classes/:class/:id", .session(object)),
            HTTPRoute(.put, "/classes/:class/:id", .session(refuse)),
            HTTPRoute(.delete, "/classes/:class/:id", .session(refuse)),
        ]
    }

    private func className(_ call: Call) throws(AuthorityError) -> ClassName {
        guard let name = ClassName(try call.parameter("class") { $0 }) else {
            throw .refused(Refusal(.badClassName, "this is not a valid class name"))
        }
        return name
    }

    private func refuse(_ call: Call, by caller: Caller) throws(AuthorityError) -> Answer {
        throw .refused(
            caller.refusal(writing: try className(call))
                ?? Refusal(.forbidden, "only boards write objects of this class"))
    }

    /// The class and the store to read it from.
    private func readable(_ call: Call) throws(AuthorityError) -> (ClassName, any DataStore) {
        let name = try className(call)
        guard !name.isReserved else {
            throw .refused(Refusal(.forbidden, "no class of this name can be read"))
        }
        guard let data else {
            throw .refused(Refusal(
                .forbidden, "this authority keeps no data: [data] keep is \"0\""))
        }
        return (name, data)
    }

    private func object(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let (name, data) = try readable(call)
        let query = try ParseQuery(call)
        let owner = caller.user.objectID
        let id = try call.parameter("id") { RecordID($0) }
        let readable = ReadableObjects(frontend: answers.frontend, data: data)
        guard let found = try await readable.object(id, of: name, by: caller) else {
            throw .noObject
        }
        return try await answers.one(found.parseForm(of: owner), to: query, call, by: caller)
    }

    private func objects(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let (name, data) = try readable(call)
        let query = try ParseQuery(call)
        if query.clause.relation != nil {
            throw WhereClause.bad("$relatedTo takes a role and its users or roles")
        }
        let owner = caller.user.objectID
        let bounds = WhereBounds(query.clause)
        if bounds.isEmpty {
            return try await answers.list(
                [], count: query.counts ? 0 : nil, to: query, call, by: caller)
        }
        let isSortedHere = query.order.contains { ObjectQuery.Order($0.path) == nil }
            || query.order.count > 1
        var search = ObjectQuery(owner: owner, className: name)
        (search.ids, search.board) = (bounds.objects, bounds.installation)
        (search.createdAt, search.updatedAt) = (bounds.createdAt, bounds.updatedAt)
        search.counts = query.counts
        let rest = bounds.rest
        if !rest.isEmpty { search.matches = { rest.fits($0.parseForm(of: owner)) } }
        if isSortedHere {
            search.limit = Self.sortLimit + 1
        } else {
            (search.skip, search.limit) = (query.skip, query.limit)
            if let first = query.order.first, let order = ObjectQuery.Order(first.path) {
                (search.order, search.isDescending) = (order, first.isDescending)
            }
        }
        let readable = ReadableObjects(frontend: answers.frontend, data: data)
        let page = try await readable.page(search, by: caller)
        guard !page.isPartial, !isSortedHere || page.objects.count <= Self.sortLimit else {
            throw WhereClause.bad("""
                this query reads too much; name a shorter time with createdAt or updatedAt, or a \
                smaller limit
                """)
        }
        var forms = page.objects.map { $0.parseForm(of: owner) }
        if isSortedHere {
            forms = Array(query.sorted(forms).dropFirst(query.skip).prefix(query.limit))
        }
        return try await answers.list(forms, count: page.count, to: query, call, by: caller)
    }
}

extension ObjectQuery.Order {
    /// Nil for another member.
    fileprivate init?(_ path: [String]) {
        switch path {
        case ["createdAt"]: self = .createdAt
        case ["updatedAt"]: self = .updatedAt
        default: return nil
        }
    }
}
