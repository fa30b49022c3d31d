import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Logs in a program by a browser: the program shows a code, and a person allows it at the page.
///
/// Source: RFC 8628, with Postern's names for members and errors.
struct LoginRequestRoutes: Sendable {
    let frontend: any AuthorityFrontend

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.post, "/login/requests", .application(ask)),
            HTTPRoute(.post, "/login/requests/session", .application(open)),
            HTTPRoute(.post, "/console/login-requests", .session(find)),
            HTTPRoute(.post, "/console/login-requests/answer", .session(answer)),
        ]
    }

    /// `{"program"}`. Source: RFC 8628 §3.1 and §3.2.
    private func ask(_ call: Call) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let program = try reading { () throws(WireError) in
            try json.parsed("program", BoardName.init)
        }
        let request = try await frontend.requestLogin(
            LoginRequestOrder(program: program, origin: call.origin))
        return Answer([
            "deviceCode": .string(request.deviceCode.reveal()),
            "userCode": .string(request.userCode.description),
            "verificationUri": .string(request.page),
            "verificationUriComplete": .string(request.pageWithCode),
            "expiresIn": .integer(request.life.components.seconds),
            "interval": .integer(request.interval.components.seconds),
        ])
    }

    /// `{"deviceCode"}`. Only this answer holds the token. Source: RFC 8628 §3.4 and §3.5.
    private func open(_ call: Call) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let code = try reading { () throws(WireError) in
            try json.parsed("deviceCode", DeviceCode.init)
        }
        let opened = try await frontend.login(LoginRequestUse(code, origin: call.origin))
        return Answer(opened.userForm)
    }

    /// `{"userCode"}`.
    private func find(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let found = try await frontend.loginRequest(
            try search(try call.json(), call), by: caller)
        return Answer([
            "userCode": .string(found.code.description), "program": .string(found.program),
            "address": .string(found.origin), "isFromHere": .bool(found.isFromHere),
            "createdAt": .time(found.createdAt), "endsAt": .time(found.endsAt),
        ])
    }

    /// `{"userCode", "allow"}`.
    private func answer(_ call: Call, by caller: Caller) async throws(AuthorityError) -> Answer {
        let json = try call.json()
        let allows = try reading { () throws(WireError) in
            try json.required("allow") { $0.asBool }
        }
        try await frontend.answerLoginRequest(
            try search(json, call), allows: allows, by: caller)
        return Answer([:])
    }

    private func search(
        _ json: JSONObject, _ call: Call
    ) throws(AuthorityError) -> TypedCode {
        let code = try reading { () throws(WireError) in
            try json.parsed("userCode") { UserCode($0) }
        }
        return TypedCode(code, origin: call.origin)
    }
}
