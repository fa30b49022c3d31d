import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Parse's `_Installation`: the data that an app stores about its device. A restricted session may
/// save its own installation, as any program may.
///
/// Source: Parse REST guide, Push notifications: installations.
struct InstallationRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let mount: String
    let answers: QueryAnswers

    /// Paths are relative to the class.
    var objects: [HTTPRoute] {
        [
            // The core refuses all but the master key, in Parse's words: `CallerRights.masterOnly`.
            HTTPRoute(.get, "", .sessionOrNone(installations)),
            HTTPRoute(.post, "", .sessionOrNone(save)),
            HTTPRoute(.get, "/:id", .sessionOrNone(installation)),
            HTTPRoute(.put, "/:id", .sessionOrNone(update)),
        ]
    }

    private func installations(
        _ call: Call, by caller: Caller?
    ) async throws(AuthorityError) -> Answer {
        let query = try ParseQuery(call)
        if let slice = query.slice {
            let page = try await frontend.installations(slice, by: caller)
            return try await answers.list(page.map(\.parseForm), to: query, call, by: caller)
        }
        let found = try await frontend.installations(.longest, by: caller)
        let page = query.page(of: found.map { Findable(form: $0.parseForm) })
        return try await answers.list(page.forms, count: page.count, to: query, call, by: caller)
    }

    /// 201 for a new installation, 200 if one with that id existed.
    private func save(_ call: Call, by caller: Caller?) async throws(AuthorityError) -> Answer {
        let draft = try draft(call)
        let (saved, isNew) = try await frontend.once(for: call, by: caller)
            .saveInstallation(draft, by: caller)
        var members = saved.fields.results(of: draft.fields)
        members["objectId"] = .string(saved.objectID.description)
        members["createdAt"] = .string(ParseDate.print(saved.createdAt))
        guard isNew else {
            members["updatedAt"] = .string(ParseDate.print(saved.updatedAt))
            return Answer(members)
        }
        var answer = Answer(.created, members)
        answer.headers[.location] = "\(mount)/installations/\(saved.objectID)"
        return answer
    }

    private func installation(
        _ call: Call, by caller: Caller?
    ) async throws(AuthorityError) -> Answer {
        let query = try ParseQuery(call)
        let found = try await frontend.installation(
            try call.parameter("id", ObjectID.init), at: try call.installation(), by: caller)
        return try await answers.one(found.parseForm, to: query, call, by: caller)
    }

    private func update(_ call: Call, by caller: Caller?) async throws(AuthorityError) -> Answer {
        let draft = try draft(call)
        let id = try call.parameter("id", ObjectID.init)
        let saved = try await frontend.once(for: call, by: caller)
            .updateInstallation(id, with: draft, by: caller)
        var members = saved.fields.results(of: draft.fields)
        members["updatedAt"] = .string(ParseDate.print(saved.updatedAt))
        return Answer(members)
    }

    /// Whether the authority sets the member itself. The core refuses `user` and `ACL`.
    private static func passedOver(_ name: String) -> Bool {
        !["user", "ACL"].contains(name) && CustomFields.isReadOnly(name, of: .installation)
    }

    private func draft(_ call: Call) throws(AuthorityError) -> InstallationDraft {
        let json = try call.json()
        let installation = try reading { () throws(WireError) in
            try json.optional("installationId") { $0.asString.flatMap(InstallationID.init) }
        }
        return InstallationDraft(
            installation: installation, claimed: try call.installation(),
            fields: json.members.filter { !Self.passedOver($0.key) }, origin: call.origin)
    }
}

extension InstallationRecord {
    var parseForm: [String: JSONValue] {
        var members = fields
        members["objectId"] = .string(objectID.description)
        members["installationId"] = .string(installation.description)
        members["createdAt"] = .string(ParseDate.print(createdAt))
        members["updatedAt"] = .string(ParseDate.print(updatedAt))
        return members
    }
}
