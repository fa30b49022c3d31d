import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// The console's page, and a user's login and logout there.
struct PageRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let files: StaticFiles

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/", .open(index)),
            HTTPRoute(.get, "/claim", .open(claim)),
            HTTPRoute(.get, "/console/:file", .open(file)),
            HTTPRoute(.get, "/worker.js", .open(worker)),
            HTTPRoute(
                .post, "/postern/v1/console/login", bodyLimit: HTTPRoute.tokenBody,
                .application(login)
            ).takingCredentials(),
            HTTPRoute(.post, "/postern/v1/console/logout", .session(logout)),
        ]
    }

    private func index(_ call: Call) throws(AuthorityError) -> Answer {
        try page("index.html", call)
    }

    private func file(_ call: Call) throws(AuthorityError) -> Answer {
        try page(try call.parameter("file") { $0 }, call)
    }

    /// A service worker controls the addresses below its own.
    private func worker(_ call: Call) throws(AuthorityError) -> Answer {
        try page(StaticFiles.worker, call)
    }

    private func page(_ name: String, _ call: Call) throws(AuthorityError) -> Answer {
        guard let file = files[name] else { throw .noObject }
        return Answer(file: file, known: call.knownTag)
    }

    /// The console's claim page. Without the console's files, a page that explains how to claim
    /// from the command line.
    private func claim(_ call: Call) throws(AuthorityError) -> Answer {
        guard files["claim.html"] != nil else {
            return Answer(page: ClaimPage(authority: frontend.info.publicURL))
        }
        return try page("claim.html", call)
    }

    /// `{"username", "password"}`, `{"passkey"}` or `{"username", "recoveryCode"}`. Only the cookie
    /// holds the token, so no script sees it.
    private func login(_ call: Call) async throws(AuthorityError) -> Answer {
        guard call.isFromOwnPage else { throw .notFromPage }
        let login = try await open(try call.json(), call)
        var answer = Answer([
            "user": .object(login.user.parseForm), "session": .object(login.session.parseForm),
        ])
        answer.headers[.setCookie] = call.cookie.keeping(login)
        return answer
    }

    private func open(
        _ json: JSONObject, _ call: Call
    ) async throws(AuthorityError) -> LoggedIn {
        if json.members["passkey"] ?? .null != .null {
            return try await frontend.login(
                PasskeyLogin(try call.passkeyProof(in: json), origin: call.origin))
        }
        if json.members["recoveryCode"] ?? .null != .null {
            let attempt = try reading { () throws(WireError) in
                RecoveryLogin(
                    username: try json.username(), code: try json.secret("recoveryCode"),
                    origin: call.origin)
            }
            return try await frontend.login(attempt)
        }
        let attempt = try reading { () throws(WireError) in
            try LoginAttempt(json: json, origin: call.origin)
        }
        return try await frontend.login(attempt)
    }

    private func logout(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        try await frontend.logout(caller)
        var answer = Answer([:])
        answer.headers[.setCookie] = call.cookie.forgetting
        return answer
    }
}

extension AuthorityError {
    /// For a request with the cookie, or a login, that our page did not make.
    static let notFromPage = AuthorityError.refused(
        Refusal(.forbidden, "this request does not come from the console's page"))
}
