import AuthorityCore
import Gate
import Hummingbird
import Sessions
import Wire

/// Parse's `_User`: login, logout, sign-up, and users.
///
/// Source: Parse REST guide, Users.
struct UserRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let mount: String
    let answers: QueryAnswers

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/login", .application { call throws(AuthorityError) in
                try await login(JSONObject(call.options), call)
            }).hashingPasswords(),
            HTTPRoute(.post, "/login", .application { call throws(AuthorityError) in
                try await login(try call.json(), call)
            }).hashingPasswords(),
            HTTPRoute(.post, "/logout", .session(logout)),
            HTTPRoute(.post, "/upgradeToRevocableSession", .session(upgrade)),
            HTTPRoute(.get, "/users/me", .session(me)),
        ]
    }

    /// Paths are relative to the class.
    var objects: [HTTPRoute] {
        [
            HTTPRoute(.get, "", .sessionOrMaster(users)),
            HTTPRoute(.post, "", bodyLimit: HTTPRoute.tokenBody, .sessionOrNone(addUser))
                .takingCredentials(),
            HTTPRoute(.get, "/:id", .sessionOrMaster(user)),
            HTTPRoute(.put, "/:id", bodyLimit: HTTPRoute.tokenBody, .sessionOrMaster(update))
                .takingCredentials(),
            HTTPRoute(.delete, "/:id", .sessionOrMaster(remove)),
        ]
    }

    /// The answer holds the new session's token, and so do the answers of `signUp` and `upgrade`.
    private func login(
        _ json: JSONObject, _ call: Call
    ) async throws(AuthorityError) -> Answer {
        guard json.has("username") || json.has("email") else {
            throw .refuse(.usernameMissing, "username/email is required.")
        }
        guard json.has("password") else {
            throw .refuse(.passwordMissing, "password is required.")
        }
        guard json.hasText("password"), json.hasText("username") || json.hasText("email") else {
            throw .refused(Refusal(.notFound, "Invalid username/password."))
        }
        let installation = try call.installation()
        let attempt = try reading { () throws(WireError) in
            try LoginAttempt(json: json, origin: call.origin, installation: installation)
        }
        return Answer(try await frontend.login(attempt).userForm)
    }

    private func logout(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try await frontend.logout(caller)
        return Answer([:])
    }

    private func upgrade(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        Answer(try await frontend.upgrade(caller).sessionForm)
    }

    /// The answer holds the token that the caller sent, as in Parse.
    private func me(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let query = try ParseQuery(call)
        var members = try await ownMembers(caller)
        if case .token(let token) = call.bearer {
            members["sessionToken"] = .string(token.reveal())
        }
        return try await answers.one(members, to: query, call, by: caller)
    }

    /// Administrators find all users, others themselves. `$relatedTo` finds the users of a role.
    private func users(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let query = try ParseQuery(call)
        guard caller.user.isAdministrator, !caller.session.restricted else {
            guard query.clause.relation == nil else {
                throw .refused(Refusal(.forbidden, "only an administrator may do this"))
            }
            return try await filtered([try await ownMembers(caller)], query, call, by: caller)
        }
        if let slice = query.slice {
            let users = try await frontend.users(slice, by: caller)
            return try await answers.list(users.map(\.parseForm), to: query, call, by: caller)
        }
        var found = try await frontend.users(by: caller)
        if let relation = query.clause.relation {
            guard relation.key == "users" else {
                throw WhereClause.bad("the key of $relatedTo must be users")
            }
            let role = try await frontend.role(relation.object, by: caller)
            found = found.filter { role.users.contains($0.objectID) }
        }
        return try await filtered(found.map(\.parseForm), query, call, by: caller)
    }

    private func filtered(
        _ forms: [[String: JSONValue]], _ query: ParseQuery, _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        let page = query.page(of: forms.map { Findable(form: $0) })
        return try await answers.list(page.forms, count: page.count, to: query, call, by: caller)
    }

    /// Adds a user, for administrators. Anyone else signs up, also with a session, because Parse's
    /// SDKs send the session of the user that the app had.
    private func addUser(_ call: Call, by caller: Caller?) async throws(AuthorityError) -> Answer {
        try caller?.requireMayWrite(.user)
        let json = try call.json()
        guard let caller, caller.user.isAdministrator else {
            return try await signUp(json, call, by: caller)
        }
        // A caller with a new proof of identity logs in again with it, as in Parse.
        if json.hasAuthData { return try await signUp(json, call, by: caller) }
        try requireNameAndPassword(json)
        let profile = try ProfileChange(json: json, making: ["isAdministrator", "mayClaim"])
        let user = try reading { () throws(WireError) in
            NewUser(
                username: try json.username(), password: try json.secret("password"),
                isAdministrator: try json.flag("isAdministrator"),
                mayClaim: try json.flag("mayClaim"), profile: profile)
        }
        let added = try await frontend.once(for: call, by: caller).addUser(user, by: caller)
        return made(added, added.parseForm)
    }

    /// Signs up. An anonymous id or an identity that is known logs in instead: 200, and no new
    /// user.
    private func signUp(
        _ json: JSONObject, _ call: Call, by caller: Caller?
    ) async throws(AuthorityError) -> Answer {
        if !json.hasAuthData { try requireNameAndPassword(json) }
        let attempt = SignUp(
            credential: try SignUp.Credential(json: json),
            profile: try ProfileChange(json: json, making: []),
            installation: try call.installation(), origin: call.origin)
        let result = try await frontend.once(for: call, by: caller).signUp(attempt)
        guard result.session.createdWith.action == "signup" else { return Answer(result.userForm) }
        return made(result.user, result.userForm)
    }

    /// Parse's own codes for a missing name or password.
    private func requireNameAndPassword(_ json: JSONObject) throws(AuthorityError) {
        guard json.hasText("username") else {
            throw .refuse(.usernameMissing, "bad or missing username")
        }
        guard json.hasText("password") else {
            throw .refuse(.passwordMissing, "password is required")
        }
    }

    private func made(_ user: UserView, _ members: [String: JSONValue]) -> Answer {
        var answer = Answer(.created, members)
        answer.headers[.location] = "\(mount)/users/\(user.objectID)"
        return answer
    }

    private func user(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let query = try ParseQuery(call)
        let user = try await subject(of: call, by: caller)
        let isOwn = user.objectID == caller.user.objectID && !caller.isMaster
        let form = isOwn ? try await ownMembers(caller) : user.parseForm
        return try await answers.one(form, to: query, call, by: caller)
    }

    /// The caller's own user, with `authData`. Nobody else sees that member.
    private func ownMembers(
        _ caller: Caller
    ) async throws(AuthorityError) -> [String: JSONValue] {
        var members = caller.user.parseForm
        members["authData"] = try await frontend.identities(by: caller).authData
        return members
    }

    /// Changes name, e-mail, password and fields of the caller or, for an administrator, of anyone.
    /// Or changes the caller's own `authData`. A member that is sent as it is changes nothing: some
    /// SDKs send all that they know.
    ///
    /// The session stays, so with a new password the answer holds the caller's own token.
    private func update(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try caller.requireMayWrite(.user)
        let json = try call.json()
        let user = try await subject(of: call, by: caller)
        let isOwn = user.objectID == caller.user.objectID && !caller.isMaster
        var known = isOwn ? try await ownMembers(caller) : user.parseForm
        if isOwn, case .token(let token) = call.bearer {
            known["sessionToken"] = .string(token.reveal())
        }
        let (change, data) = try ProfileChange.read(json, over: known, origin: call.origin)
        var frontend = try await frontend.once(for: call, by: caller)
        if !data.isEmpty {
            guard isOwn else {
                throw .refused(
                    Refusal(.forbidden, "only the user can change their own authData"))
            }
            guard !change.isMoreThanAuthData else {
                throw .refused(
                    Refusal(.forbidden, "authData must be changed in a request of its own"))
            }
            let change = try IdentityChange(authData: data)
            try await self.change(change, at: frontend, call, by: caller)
            // The request's id is used up.
            frontend = self.frontend
        }
        let changed = try await frontend.change(user.objectID, change, by: caller)
        var members = changed.fields.results(of: change.fields)
        members["updatedAt"] = .string(ParseDate.print(changed.updatedAt))
        if change.password != nil { members["sessionToken"] = known["sessionToken"] }
        return Answer(members)
    }

    private func change(
        _ change: IdentityChange, at frontend: any AuthorityFrontend, _ call: Call,
        by caller: Caller
    ) async throws(AuthorityError) {
        switch change {
        case .link(let proof):
            try await frontend.link(proof, from: call.origin, by: caller)
        case .unlink(let provider): try await frontend.unlink(provider, by: caller)
        }
    }

    private func remove(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try caller.requireMayWrite(.user)
        throw .refused(Refusal(.forbidden, "users cannot be deleted; disable the user"))
    }

    /// The user in the path.
    private func subject(
        of call: Call, by caller: Caller
    ) async throws(AuthorityError) -> UserView {
        try await frontend.visibleUser(try call.parameter("id", UserID.init), by: caller)
    }
}

extension AuthorityFrontend {
    /// The caller or, for an administrator, anyone. 101 in all other cases.
    func visibleUser(_ id: UserID, by caller: Caller) async throws(AuthorityError) -> UserView {
        if id == caller.user.objectID, !caller.isMaster { return caller.user }
        guard caller.user.isAdministrator, !caller.session.restricted else { throw .noObject }
        return try await user(id, by: caller)
    }
}
