import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Sessions as the console shows and changes them: Parse's form, with a mark for the caller's own
/// session.
struct OwnSessionRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/sessions", .session(sessions)),
            HTTPRoute(.put, "/sessions/:id", .session(rename)),
            HTTPRoute(.delete, "/sessions/:id", .session(signOut)),
            HTTPRoute(.post, "/sessions/:id/extend", .session(extend)),
            HTTPRoute(
                .put, "/sessions/:id/scope", bodyLimit: HTTPRoute.largeBody, .session(setScope)),
        ]
    }

    private func sessions(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let views = try await frontend.sessions(by: caller, everyone: try call.everyone())
        return .results(views.map { .object($0.consoleForm(for: caller)) })
    }

    /// `{"name": text}`, a custom field. An empty name removes it.
    private func rename(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", ObjectID.init)
        let json = try call.json()
        let name = try reading { () throws(WireError) in
            try json.required("name") { value in
                value.asString.flatMap { $0.isEmpty ? "" : BoardName($0)?.description }
            }
        }
        let value: JSONValue = name.isEmpty
            ? .object(["__op": .string("Delete")]) : .string(name)
        let draft = SessionDraft(installation: nil, custom: ["name": value])
        let view = try await frontend.update(id, with: draft, by: caller)
        return Answer(view.consoleForm(for: caller))
    }

    private func signOut(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", ObjectID.init)
        if id == caller.session.objectID, call.isCookieCaller {
            try await frontend.logout(caller)
            var answer = Answer([:])
            answer.headers[.setCookie] = call.cookie.forgetting
            return answer
        }
        return Answer(isBrokerTold: try await frontend.revoke(id, by: caller))
    }

    /// `{"durationSeconds": n, "shorten": true}`; the second member is optional.
    private func extend(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", ObjectID.init)
        let json = try call.json()
        let (seconds, shortens) = try reading { () throws(WireError) in
            let shortens = try json.optional("shorten") { $0.asBool } ?? false
            return (try json.integer("durationSeconds"), shortens)
        }
        let permitted = LifetimePolicy.shortest.components.seconds
            ... LifetimePolicy.longest.components.seconds
        guard permitted.contains(seconds) else { throw .refused(.durationOutOfRange) }
        let view = try await frontend.extend(
            id, by: .seconds(seconds), shortens: shortens, by: caller)
        return Answer(view.consoleForm(for: caller))
    }

    /// The body is the scope.
    private func setScope(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let id = try call.parameter("id", ObjectID.init)
        let scope = ScopeDocument(unchecked: .object(try call.json().members))
        let view = try await frontend.setScope(scope, of: id, by: caller)
        return Answer(view.consoleForm(for: caller))
    }
}

extension Answer {
    /// The answer to an action that the broker must know of, such as the end of a session.
    /// `brokerTold` is false if the broker does not know yet.
    init(isBrokerTold: Bool) {
        self.init(isBrokerTold ? [:] : ["brokerTold": .bool(false)])
    }
}

extension SessionView {
    /// Parse's form, with `name` and `isThisOne`.
    func consoleForm(for caller: Caller) -> [String: JSONValue] {
        var members = parseForm
        members["name"] = session.custom["name"] ?? .null
        members["isThisOne"] = .bool(session.objectID == caller.session.objectID)
        return members
    }
}
