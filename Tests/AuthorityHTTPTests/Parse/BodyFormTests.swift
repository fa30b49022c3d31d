import NIOHTTP1
import Sessions
import Testing

/// Requests as Parse's JavaScript SDK sends them: POST, `text/plain`, and all in the body.
@Suite("A body that says who asks")
struct BodyFormTests {
    private static let sdk = #""_ApplicationId":"postern","_ClientVersion":"js6.1.1","#
        + #""_InstallationId":"\#(StubFrontend.iid)","_RevocableSession":"1""#
    private static let live = sdk + #","_SessionToken":"\#(StubFrontend.token)""#
    private static let plain = ["Content-Type": "text/plain"]

    @Test("is taken as if its headers said it", arguments: [
        ("/parse/login", sdk + #","_method":"GET","username":"alice","password":"correct""#,
         200, ["login alice from 127.0.0.1 at \(StubFrontend.iid)"]),
        ("/parse/users", sdk + #","username":"eve","password":"pw""#, 201,
         ["sign up eve from 127.0.0.1 at \(StubFrontend.iid)"]),
        ("/parse/users/me", live + #","_method":"GET""#, 200, []),
        ("/parse/sessions/me", live + #","_method":"GET""#, 200, ["session sEsS000001"]),
        ("/parse/sessions/me", live + #","_method":"PUT","label":"x""#, 200,
         [#"update sEsS000001 {"label":"x"} at \#(StubFrontend.iid)"#]),
        ("/parse/classes/_Session",
         live + #","_method":"GET","where":{"restricted":true},"limit":5,"order":"-createdAt""#,
         200, ["sessions everyone false"]),
        ("/parse/classes/_Session/sEsS000002", live + #","_method":"DELETE""#, 200,
         ["session sEsS000002", "revoke sEsS000002"]),
        ("/parse/logout", live, 200, ["logout sEsS000001"]),
        ("/parse/sessions", live + #","label":"shed""#, 201, [#"make {"label":"shed"}"#]),
        ("/parse/classes/_Installation", sdk + #","deviceType":"js""#, 201,
         [#"save {"deviceType":"js"} claimed \#(StubFrontend.iid) by nobody"#]),
    ] as [(String, String, Int, [String])])
    func taken(path: String, body: String, status: Int, calls: [String]) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, path, "{\(body)}", application: nil, token: nil, headers: Self.plain)
            #expect(reply.status == status, "\(reply.text)")
            #expect(await console.frontend.calls == calls)
        }
    }

    @Test("is JSON, whatever its type says, and is never inflated", arguments: [
        ("application/x-www-form-urlencoded", nil, #"{"label":"x"}"#, 201, nil),
        ("application/x-www-form-urlencoded", nil, "label=x", 400, 107),
        ("application/json", "identity", #"{"label":"x"}"#, 201, nil),
        ("application/json", "gzip", #"{"label":"x"}"#, 415, 107),
        ("application/json", "GZIP, identity", #"{"label":"x"}"#, 415, 107),
    ] as [(String, String?, String, Int, Int64?)])
    func form(type: String, coding: String?, body: String, status: Int, code: Int64?) async throws {
        try await RunningConsole.with { console in
            var headers = ["Content-Type": type]
            headers["Content-Encoding"] = coding
            let reply = try await console.send(.POST, "/parse/sessions", body, headers: headers)
            #expect(reply.status == status && reply.code == code, "\(reply.text)")
        }
    }

    @Test("is never taken for nobody's where its token is over, or none", arguments: [
        #""r:stranger""#, #""nonsense""#, #""""#, "null", "7", "{}", "[]",
    ], [
        ("/parse/users", "POST"), ("/parse/sessions", "GET"), ("/parse/roles", "GET"),
        ("/parse/classes/_Installation", "POST"), ("/parse/users/me", "GET"),
        ("/parse/batch", "POST"), ("/parse/sessions/me", "PUT"), ("/parse/logout", "POST"),
    ])
    func dead(token: String, request: (String, String)) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, request.0,
                "{\(Self.sdk),\"_SessionToken\":\(token),\"_method\":\"\(request.1)\","
                    + #""username":"eve","password":"pw","requests":[]}"#,
                application: nil, token: nil)
            #expect(reply.status == 400)
            #expect(reply.code == 209)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("is nobody's of this application where it does not name it", arguments: [
        "", "[]", "{", "{}", #"{"_ApplicationId":"other"}"#, #"{"_ApplicationId":7}"#,
        #"{"_SessionToken":"\#(StubFrontend.token)"}"#,
    ])
    func application(body: String) async throws {
        try await RunningConsole.with { console in
            for path in ["/parse/login", "/parse/sessions", "/parse/sessions/me", "/parse/batch"] {
                let reply = try await console.send(
                    .POST, path, body, application: nil, token: nil)
                #expect(reply.status == 403)
                #expect(reply.text == #"{"error":"unauthorized"}"#)
            }
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("is refused where headers say it too", arguments: [
        ("_SessionToken", "postern", nil), ("_ApplicationId", "postern", nil),
        ("_MasterKey", "postern", nil), ("_InstallationId", "postern", nil),
        ("_SessionToken", nil, StubFrontend.token),
    ] as [(String, String?, String?)])
    func twice(member: String, application: String?, token: String?) async throws {
        try await RunningConsole.with { console in
            let own = application == nil ? #","_ApplicationId":"postern""# : ""
            let reply = try await console.send(
                .POST, "/parse/users",
                #"{"username":"eve","password":"pw","\#(member)":"\#(StubFrontend.token)"\#(own)}"#,
                application: application, token: token)
            #expect(reply.status == 400)
            #expect(reply.code == 119)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("may name another method beside headers, and gets that method's gate", arguments: [
        ("/parse/sessions/sEsS000002", "DELETE", StubFrontend.token, 200, 0),
        ("/parse/sessions/sEsS000002", "DELETE", StubFrontend.restrictedToken, 400, 119),
        ("/parse/users", "GET", StubFrontend.token, 200, 0),
        ("/parse/sessions/me", "PATCH", StubFrontend.token, 405, 119),
        ("/parse/sessions/me", "get", StubFrontend.token, 405, 119),
        ("/parse/sessions/me", "POST", StubFrontend.token, 405, 119),
        ("/parse/users", "DELETE", StubFrontend.token, 405, 119),
        ("/parse/users", "GET", "r:stranger", 400, 209),
    ] as [(String, String, String, Int, Int64)])
    func override(
        path: String, method: String, token: String, status: Int, code: Int64
    ) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, path, #"{"_method":"\#(method)"}"#, token: token)
            #expect(reply.status == status)
            #expect((reply.code ?? 0) == code)
            // Nowhere but in Parse's API.
            let own = try await console.send(
                .POST, "/postern/v1/sessions/sEsS000002", #"{"_method":"GET"}"#)
            #expect(own.status == 405)
        }
    }

    @Test("is read to the limit of its path, and no more")
    func limit() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, "/parse/sessions/me",
                #"{"_ApplicationId":"postern","pad":"\#(String(repeating: "p", count: 4096))"}"#,
                application: nil, token: nil)
            #expect(reply.status == 413)
        }
    }

    @Test("never counts a cookie", arguments: ["/parse/users/me", "/parse/sessions"])
    func cookie(path: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .GET, path, token: nil, headers: [
                    "Cookie": "postern_session=\(StubFrontend.token)", "X-Postern-Console": "1",
                ])
            #expect(reply.code == 209)
        }
    }
}
