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
        try requireNameAndPassword(json)
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
        var members = try await ownMembers(caller)
        if case .token(let token) = call.bearer {
            members["sessionToken"] = .string(token.reveal())
        }
        return Answer(members)
    }

    /// `$relatedTo` finds the users of a role.
    private func users(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let query = try ParseQuery(call)
        if let slice = query.slice {
            let users = try await frontend.users(slice, by: caller)
            return query.answer(page: users.map(\.parseForm))
        }
        var found = try await frontend.users(by: caller)
        if let relation = query.clause.relation {
            guard relation.key == "users" else {
                throw WhereClause.bad("the key of $relatedTo must be users")
            }
            let role = try await frontend.role(relation.object, by: caller)
            found = found.filter { role.users.contains($0.objectID) }
        }
        return query.answer(found.map { Findable(form: $0.parseForm) })
    }

    /// Adds a user. A caller without a session signs up; then only the name and the credential are
    /// read.
    private func addUser(_ call: Call, by caller: Caller?) async throws(AuthorityError) -> Answer {
        try caller?.requireMayWrite(.user)
        let json = try call.json()
        guard let caller else { return try await signUp(json, call) }
        // A caller with a new proof of identity logs in again with it, as in Parse.
        if let data = json.members["authData"], data != .null {
            return try await signUp(json, call)
        }
        try requireNameAndPassword(json)
        let user = try reading { () throws(WireError) in
            NewUser(
                username: try json.username(), password: try json.secret("password"),
                isAdministrator: try json.flag("isAdministrator"),
                mayClaim: try json.flag("mayClaim"))
        }
        let added = try await frontend.addUser(user, by: caller)
        return made(added, added.parseForm)
    }

    /// Signs up. An anonymous id or an identity that is known logs in instead: 200, and no new
    /// user.
    private func signUp(
        _ json: JSONObject, _ call: Call
    ) async throws(AuthorityError) -> Answer {
        if json.members["authData"] == nil { try requireNameAndPassword(json) }
        let attempt = SignUp(
            credential: try SignUp.Credential(json: json), installation: try call.installation(),
            origin: call.origin)
        let result = try await frontend.signUp(attempt)
        guard result.session.createdWith.action == "signup" else { return Answer(result.userForm) }
        return made(result.user, result.userForm)
    }

    /// Parse's own codes for a missing name or password.
    private func requireNameAndPassword(_ json: JSONObject) throws(AuthorityError) {
        guard json.members["username"] ?? .null != .null else {
            throw .refuse(.usernameMissing, "bad or missing username")
        }
        guard json.members["password"] ?? .null != .null else {
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
        return Answer(query.shown(isOwn ? try await ownMembers(caller) : user.parseForm))
    }

    /// The caller's own user, with `authData`. Nobody else sees that member.
    private func ownMembers(
        _ caller: Caller
    ) async throws(AuthorityError) -> [String: JSONValue] {
        var members = caller.user.parseForm
        members["authData"] = try await frontend.identities(by: caller).authData
        return members
    }

    /// Links or unlinks one of the caller's own identities; nobody can do that for another user.
    private func change(
        _ change: IdentityChange, _ call: Call, by caller: Caller
    ) async throws(AuthorityError) -> Answer {
        guard try await subject(of: call, by: caller).objectID == caller.user.objectID else {
            throw .refused(Refusal(.forbidden, "only the user can change their own authData"))
        }
        switch change {
        case .link(let proof):
            try await frontend.link(proof, from: call.origin, by: caller)
        case .unlink(let provider): try await frontend.unlink(provider, by: caller)
        }
        return Answer([:])
    }

    /// Changes a password: the caller's own or, for an administrator, anyone's. Or changes the
    /// caller's own `authData`. Nothing else of a user can be changed here.
    private func update(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try caller.requireMayWrite(.user)
        let json = try call.json()
        if let identity = try IdentityChange(json: json) {
            return try await change(identity, call, by: caller)
        }
        let known: Set = ["password", "oldPassword", "keepBoards"]
        guard json.members["password"] != nil,
            json.members.keys.allSatisfy({ known.contains($0) || $0.hasPrefix("_") })
        else {
            throw .refused(Refusal(.forbidden, "only the password of a user can be changed"))
        }
        let name = try await subject(of: call, by: caller).username
        let change = try reading { () throws(WireError) in
            try PasswordChange(json: json, username: name, origin: call.origin)
        }
        try await frontend.setPassword(change, by: caller)
        return Answer([:])
    }

    private func remove(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try caller.requireMayWrite(.user)
        throw .refused(Refusal(.forbidden, "users cannot be deleted; disable the user"))
    }

    /// The user in the path: the caller or, for an administrator, anyone. 101 in all other cases.
    private func subject(
        of call: Call, by caller: Caller
    ) async throws(AuthorityError) -> UserView {
        let id = try call.parameter("id", UserID.init)
        if id == caller.user.objectID, !caller.isMaster { return caller.user }
        guard caller.user.isAdministrator, !caller.session.restricted else { throw .noObject }
        return try await frontend.user(id, by: caller)
    }
}
