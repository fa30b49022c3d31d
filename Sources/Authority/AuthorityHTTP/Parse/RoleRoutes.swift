import AuthorityCore
import Gate
import Hummingbird
import Sessions
import Wire

/// Parse's `_Role`. Administrators and the master key make roles.
///
/// A role's ACL names the others that may read it, also without a session, and those that may write
/// it. A restricted session writes no role.
///
/// Source: Parse REST guide, Roles.
struct RoleRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let mount: String
    let answers: QueryAnswers

    /// Room for some hundred pointers.
    private static let bodyLimit = 32 * 1024

    /// Paths are relative to the class.
    var objects: [HTTPRoute] {
        [
            HTTPRoute(.get, "", .sessionOrNone(roles)),
            HTTPRoute(.post, "", bodyLimit: Self.bodyLimit, .sessionOrMaster(make)),
            HTTPRoute(.get, "/:id", .sessionOrNone(role)),
            HTTPRoute(.put, "/:id", bodyLimit: Self.bodyLimit, .sessionOrMaster(update)),
            HTTPRoute(.delete, "/:id", .sessionOrMaster(remove)),
        ]
    }

    /// A `where` may ask for the role's users and roles. Administrators find all users; other
    /// callers find only themselves. `$relatedTo` finds the roles within one role.
    private func roles(_ call: Call, by caller: Caller?) async throws(AuthorityError) -> Answer {
        let query = try ParseQuery(call)
        var found = try await frontend.roles(by: caller)
        if let relation = query.clause.relation {
            guard relation.key == "roles" else {
                throw WhereClause.bad("the key of $relatedTo must be roles")
            }
            let parent = found.first { $0.role.objectID == relation.object }
            found = found.filter { parent?.role.roles.contains($0.role.objectID) ?? false }
        }
        let page = query.page(of: found.map(\.findable))
        return try await answers.list(page.forms, count: page.count, to: query, call, by: caller)
    }

    private func role(_ call: Call, by caller: Caller?) async throws(AuthorityError) -> Answer {
        let query = try ParseQuery(call)
        let view = try await frontend.role(try call.parameter("id", ObjectID.init), by: caller)
        return try await answers.one(view.role.parseForm, to: query, call, by: caller)
    }

    private func make(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try caller.requireMayWrite(.role)
        let draft = try RoleDraft(json: try call.json())
        let made = try await frontend.once(for: call, by: caller).makeRole(draft, by: caller)
        var answer = Answer(.created, [
            "objectId": .string(made.role.objectID.description),
            "createdAt": .string(ParseDate.print(made.role.createdAt)),
        ])
        answer.headers[.location] = "\(mount)/roles/\(made.role.objectID)"
        return answer
    }

    private func update(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try caller.requireMayWrite(.role)
        let id = try call.parameter("id", ObjectID.init)
        let draft = try RoleDraft(json: try call.json())
        let changed = try await frontend.once(for: call, by: caller)
            .updateRole(id, with: draft, by: caller)
        return Answer(["updatedAt": .string(ParseDate.print(changed.role.updatedAt))])
    }

    private func remove(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try caller.requireMayWrite(.role)
        try await frontend.deleteRole(try call.parameter("id", ObjectID.init), by: caller)
        return Answer([:])
    }
}
