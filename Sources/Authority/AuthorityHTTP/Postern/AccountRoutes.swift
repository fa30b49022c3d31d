import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Actions on users that Parse's API does not have. These routes name a user by the user name.
struct AccountRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/login", .application(login)).hashingPasswords(),
            HTTPRoute(.get, "/me", .session(me)),
            HTTPRoute(.get, "/users", .session(users)),
            HTTPRoute(.post, "/users", .session(add)).hashingPasswords(),
            HTTPRoute(.put, "/users/:name", .session(change)),
            HTTPRoute(.put, "/users/:name/password", .session(setPassword)).hashingPasswords(),
            HTTPRoute(.post, "/users/:name/revoke", .session(revokeAll)),
        ]
    }

    /// `{"username", "password"}`, for programs; the console's page has its own login. Only this
    /// answer holds the token.
    private func login(_ call: Call) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let attempt = try reading { () throws(WireError) in
            try LoginAttempt(json: json, origin: call.origin)
        }
        return Answer(try await frontend.login(attempt).userForm)
    }

    /// The caller's user and session.
    private func me(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let session = try await frontend.session(caller.session.objectID, by: caller)
        return Answer([
            "user": .object(caller.user.parseForm),
            "session": .object(session.consoleForm(for: caller)),
        ])
    }

    private func users(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        .results(try await frontend.users(by: caller).map { .object($0.parseForm) })
    }

    /// `{"username", "password", "isAdministrator"?, "mayClaim"?}`.
    private func add(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let user = try reading { () throws(WireError) in
            NewUser(
                username: try json.username(), password: try json.secret("password"),
                isAdministrator: try json.flag("isAdministrator"),
                mayClaim: try json.flag("mayClaim"))
        }
        return Answer(.created, try await frontend.addUser(user, by: caller).parseForm)
    }

    /// `{"enabled"?: bool, "mayClaim"?: bool}`, at least one of them.
    private func change(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let name = try name(in: call)
        let json = try call.json()
        let change = try reading { () throws(WireError) in
            let change = UserChange(
                isEnabled: try json.optional("enabled") { $0.asBool },
                mayClaim: try json.optional("mayClaim") { $0.asBool })
            guard change != UserChange() else { throw .missing("enabled") }
            return change
        }
        return Answer(try await frontend.change(name, change, by: caller).parseForm)
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

    /// `{"keepBoards"?: bool}`, or no body.
    private func revokeAll(
        _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let json = call.body.isEmpty ? JSONObject([:]) : try call.json()
        let keepsBoards = try reading { () throws(WireError) in try json.flag("keepBoards") }
        let ended = try await frontend.revokeAll(
            of: try name(in: call), keepsBoards: keepsBoards, by: caller)
        return Answer(["ended": .integer(Int64(ended))])
    }

    private func name(in call: Call) throws(AuthorityError) -> String {
        try call.parameter("name") { UsernameText($0)?.text }
    }
}
