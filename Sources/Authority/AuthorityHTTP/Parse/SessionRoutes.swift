import AuthorityCore
import Gate
import Hummingbird
import Sessions
import Wire

/// Parse's `_Session`. `me` is the session of the caller.
///
/// The class permissions apply to these routes, except `me`. The master key passes them and sees
/// everyone's sessions. A restricted session reads only restricted sessions here and writes none;
/// it changes its own at `me`.
///
/// Source: Parse REST guide, Sessions.
struct SessionRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let mount: String
    let permissions: ClassPermissions
    let answers: QueryAnswers

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/sessions/me", .session(current)),
            HTTPRoute(.put, "/sessions/me", .session(updateCurrent)),
            HTTPRoute(.delete, "/sessions/me", .session(endCurrent)),
        ]
    }

    /// Paths are relative to the class.
    var objects: [HTTPRoute] {
        [
            HTTPRoute(.get, "", .sessionOrMaster(sessions)),
            HTTPRoute(.post, "", .session(make)),
            HTTPRoute(.get, "/:id", .sessionOrMaster(session)),
            HTTPRoute(.put, "/:id", .sessionOrMaster(update)),
            HTTPRoute(.delete, "/:id", .sessionOrMaster(revoke)),
        ]
    }

    /// One session, for our own programs; Parse's class permissions do not apply.
    var own: [HTTPRoute] {
        [
            HTTPRoute(.get, "/postern/v1/sessions/:id", .session {
                call, caller throws(AuthorityError) in
                let id = try call.parameter("id", ObjectID.init)
                return Answer(try await frontend.session(id, by: caller).parseForm)
            })
        ]
    }

    private func sessions(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try permit(.find, call, caller)
        let query = try ParseQuery(call)
        let asked = try call.everyone()
        let everyone = caller.isMaster || asked
        if let slice = query.slice {
            let views = try await frontend.sessions(
                slice, by: caller, everyone: everyone, withEnded: false)
            return try await answers.list(views.map(\.parseForm), to: query, call, by: caller)
        }
        let views = try await frontend.sessions(
            .longest, by: caller, everyone: everyone, withEnded: false)
        let page = query.page(of: views.map { Findable(form: $0.parseForm) })
        return try await answers.list(page.forms, count: page.count, to: query, call, by: caller)
    }

    /// Makes a restricted session for a device. Only this answer holds the new token.
    private func make(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try caller.requireMayWrite(.session)
        try permit(.create, call, caller)
        let draft = try SessionDraft(json: try call.json())
        if !draft.custom.isEmpty { try permit(.addField, call, caller) }
        let made = try await frontend.once(for: call, by: caller).makeSession(draft, by: caller)
        var answer = Answer(.created, made.sessionForm)
        answer.headers[.location] = "\(mount)/sessions/\(made.session.objectID)"
        return answer
    }

    /// The answer holds the token that the caller sent, as in Parse.
    private func current(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let query = try ParseQuery(call)
        var members = try await frontend.session(caller.session.objectID, by: caller).parseForm
        if case .token(let token) = call.bearer {
            members["sessionToken"] = .string(token.reveal())
        }
        return try await answers.one(members, to: query, call, by: caller)
    }

    /// Pairs a device's session with its installation, as in Parse. The id may come in a header.
    /// Clients send this header with every request, so it counts only if the session has no
    /// installation yet.
    private func updateCurrent(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let draft = try SessionDraft(json: try call.json())
        let isFirst = caller.session.installationID == nil
        let header = isFirst ? try call.installation() : nil
        let order = SessionDraft(
            installation: draft.installation ?? header, custom: draft.custom)
        return try await change(caller.session.objectID, order, call, by: caller)
    }

    private func endCurrent(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        try await frontend.logout(caller)
        return Answer([:])
    }

    private func session(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try permit(.get, call, caller)
        let query = try ParseQuery(call)
        let id = try call.parameter("id", ObjectID.init)
        let found = try await frontend.presentSession(id, by: caller)
        return try await answers.one(found.parseForm, to: query, call, by: caller)
    }

    /// A field that the session does not have yet needs the permission `addField`.
    private func update(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try caller.requireMayWrite(.session)
        try permit(.update, call, caller)
        let id = try call.parameter("id", ObjectID.init)
        let draft = try SessionDraft(json: try call.json())
        if !allows(.addField, call, caller), !draft.custom.isEmpty {
            let known = try await frontend.session(id, by: caller).session.custom
            guard draft.custom.keys.allSatisfy({ known[$0] != nil }) else {
                throw Self.denied(.addField)
            }
        }
        return try await change(id, draft, call, by: caller)
    }

    private func change(
        _ id: ObjectID, _ draft: SessionDraft, _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let once = try await frontend.once(for: call, by: caller)
        return Answer(try await once.update(id, with: draft, by: caller).parseForm)
    }

    private func revoke(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try caller.requireMayWrite(.session)
        try permit(.delete, call, caller)
        let id = try call.parameter("id", ObjectID.init)
        _ = try await frontend.presentSession(id, by: caller)
        try await frontend.revoke(id, by: caller)
        return Answer([:])
    }

    private func permit(
        _ action: ClassPermissions.Action, _ call: Call, _ caller: Caller
    ) throws(AuthorityError) {
        guard allows(action, call, caller) else { throw Self.denied(action) }
    }

    private func allows(
        _ action: ClassPermissions.Action, _ call: Call, _ caller: Caller
    ) -> Bool {
        permissions.allows(action) || caller.isMaster || call.isMaster
    }

    /// Parse server's own text.
    private static func denied(_ action: ClassPermissions.Action) -> AuthorityError {
        .refused(
            Refusal(
                .forbidden,
                "Permission denied for action \(action.rawValue) on class _Session."))
    }
}

extension AuthorityFrontend {
    /// A session that nobody ended. The board of an ended one may not have confirmed the end.
    func presentSession(
        _ id: ObjectID, by caller: Caller
    ) async throws(AuthorityError) -> SessionView {
        let view = try await session(id, by: caller)
        guard view.state != .revoked else { throw .noObject }
        return view
    }
}
