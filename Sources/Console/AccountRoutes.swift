import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// What Parse has no words for about users, by their names, and their sessions.
struct AccountRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [Route] {
        [
            Route(.put, "/users/:name", .session(setEnabled)),
            Route(.put, "/users/:name/password", .session(setPassword)),
            Route(.post, "/users/:name/revoke", .session(revokeAll)),
            Route(.post, "/sessions/:id/extend", .session(extend)),
        ]
    }

    /// `{"enabled": bool}`.
    private func setEnabled(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let name = try name(in: call)
        let json = try call.json()
        let isEnabled = try reading { () throws(WireError) in
            try json.required("enabled") { $0.asBool }
        }
        return Answer(
            try await frontend.setEnabled(isEnabled, user: name, by: caller).parseForm)
    }

    private func setPassword(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let name = try name(in: call)
        let json = try call.json()
        let change = try reading { () throws(WireError) in
            try PasswordChange(json: json, username: name, origin: call.origin)
        }
        try await frontend.setPassword(change, by: caller)
        return Answer([:])
    }

    private func revokeAll(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let ended = try await frontend.revokeAll(of: try name(in: call), by: caller)
        return Answer(["ended": .integer(Int64(ended))])
    }

    /// `{"durationSeconds": n}`; the answer is the session in Parse's form, as everywhere.
    private func extend(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", ObjectID.init)
        let json = try call.json()
        let seconds = try reading { () throws(WireError) in
            try json.integer("durationSeconds")
        }
        let permitted = LifetimePolicy.shortest.components.seconds
            ... LifetimePolicy.longest.components.seconds
        guard permitted.contains(seconds) else {
            throw .refused(Refusal(.validation, "a session lasts from 5 minutes to 1 year"))
        }
        let view = try await frontend.extend(id, by: .seconds(seconds), by: caller)
        return Answer(view.parseForm)
    }

    private func name(in call: Call) throws(AuthorityError) -> String {
        try call.parameter("name") { UsernameText($0)?.text }
    }
}
