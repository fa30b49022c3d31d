import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Sessions as Parse has them. `me` is the session that asks.
///
/// Source: Parse REST guide, Sessions.
struct SessionRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let mount: String

    var routes: [Route] {
        [
            Route(.get, "/sessions", .session(sessions)),
            Route(.post, "/sessions", .session(make)),
            Route(.get, "/sessions/me", .session(current)),
            Route(.put, "/sessions/me", .session(updateCurrent)),
            Route(.delete, "/sessions/me", .session(endCurrent)),
            Route(.get, "/sessions/:id", .session(session)),
            Route(.put, "/sessions/:id", .session(update)),
            Route(.delete, "/sessions/:id", .session(revoke)),
        ]
    }

    private func sessions(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let views = try await frontend.sessions(by: caller, everyone: try call.everyone())
        return .results(views.map { .object($0.parseForm) })
    }

    /// A restricted session for a device. The answer holds its token, and no other ever will.
    private func make(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let made = try await frontend.makeSession(
            try SessionDraft(json: try call.json()), by: caller)
        var answer = Answer(.created, made.sessionForm)
        answer.headers[.location] = "\(mount)/sessions/\(made.session.objectID)"
        return answer
    }

    /// Holds the token that the caller sent, as Parse has it.
    private func current(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        var members = try await frontend.session(caller.session.objectID, by: caller).parseForm
        if case .token(let token) = call.bearer {
            members["sessionToken"] = .string(token.reveal())
        }
        return Answer(members)
    }

    /// Parse's way of pairing a device's session with its installation: the id may stand in
    /// the header that clients send with every request, so it counts for the first time only.
    private func updateCurrent(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let draft = try SessionDraft(json: try call.json())
        let isFirst = caller.session.installationID == nil
        let header = isFirst ? try call.installation() : nil
        let order = SessionDraft(
            installation: draft.installation ?? header, custom: draft.custom)
        let id = caller.session.objectID
        return Answer(try await frontend.update(id, with: order, by: caller).parseForm)
    }

    private func endCurrent(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        try await frontend.logout(caller)
        return Answer([:])
    }

    private func session(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", ObjectID.init)
        return Answer(try await frontend.session(id, by: caller).parseForm)
    }

    private func update(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", ObjectID.init)
        let draft = try SessionDraft(json: try call.json())
        return Answer(try await frontend.update(id, with: draft, by: caller).parseForm)
    }

    private func revoke(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try await frontend.revoke(try call.parameter("id", ObjectID.init), by: caller)
        return Answer([:])
    }
}
