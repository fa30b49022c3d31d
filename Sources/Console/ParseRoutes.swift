import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Parse's REST API, as far as the command line needs it.
///
/// Source: Parse REST guide, Users and Sessions.
struct ParseRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let mount: String

    var routes: [Route] {
        [
            Route(.get, "/health", .open { _ in Answer(["status": .string("ok")]) }),
            Route(.post, "/login", .application(login)),
            Route(.post, "/logout", .session(logout)),
            Route(.get, "/users/me", .session(me)),
            Route(.get, "/users", .session(users)),
            Route(.post, "/users", .session(addUser)),
            Route(.get, "/sessions", .session(sessions)),
            Route(.get, "/sessions/:id", .session(session)),
            Route(.delete, "/sessions/:id", .session(revoke)),
        ].map { $0.under(mount) }
    }

    /// The only answer that ever holds a session token: the caller's own, once.
    private func login(_ call: Call) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let attempt = try reading { () throws(WireError) in
            LoginAttempt(
                username: try json.parsed("username", bounded), password: try password(in: json),
                origin: call.origin)
        }
        let result = try await frontend.login(attempt)
        var members = result.user.parseForm
        members["sessionToken"] = .string(result.token.reveal())
        return Answer(members)
    }

    private func logout(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try await frontend.logout(caller)
        return Answer([:])
    }

    private func me(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        Answer(caller.user.parseForm)
    }

    private func users(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        .results(try await frontend.users(by: caller).map { .object($0.parseForm) })
    }

    private func addUser(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let user = try reading { () throws(WireError) in
            NewUser(
                username: try json.parsed("username", bounded), password: try password(in: json),
                isAdministrator: try json.optional("isAdministrator") { $0.asBool } ?? false,
                mayClaim: try json.optional("mayClaim") { $0.asBool } ?? false)
        }
        let added = try await frontend.addUser(user, by: caller)
        var answer = Answer(.created, added.parseForm)
        answer.headers[.location] = "\(mount)/users/\(added.objectID)"
        return answer
    }

    private func sessions(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let views = try await frontend.sessions(by: caller, everyone: try call.everyone())
        return .results(views.map { .object($0.parseForm) })
    }

    private func session(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", ObjectID.init)
        return Answer(try await frontend.session(id, by: caller).parseForm)
    }

    private func revoke(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try await frontend.revoke(try call.parameter("id", ObjectID.init), by: caller)
        return Answer([:])
    }

    /// Long enough for any name; the frontend has the rule for new ones.
    private func bounded(_ name: String) -> String? {
        (1...256).contains(name.utf8.count) ? name : nil
    }

    private func password(in json: JSONObject) throws(WireError) -> SecretBytes {
        try json.parsed("password") { text in
            (1...1024).contains(text.utf8.count) ? SecretBytes(Array(text.utf8)) : nil
        }
    }
}
