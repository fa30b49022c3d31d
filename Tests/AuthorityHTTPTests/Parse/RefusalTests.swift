import AuthorityCore
import Logging
import NIOHTTP1
import Sessions
import Testing
import Wire

@Suite("Console refusals")
struct RefusalTests {
    @Test("carry Parse's number and its HTTP status", arguments: [
        (ErrorCode.notFound, 404), (.badClassName, 400), (.badKeyName, 400), (.invalidJSON, 400),
        (.wrongType, 400), (.tooLarge, 400), (.forbidden, 400), (.quota, 400),
        (.validation, 400), (.rateLimit, 429), (.sessionMissing, 400), (.invalidSession, 400),
    ] as [(ErrorCode, Int)])
    func statuses(code: ErrorCode, status: Int) async throws {
        try await RunningConsole.with { console in
            await console.frontend.fail(with: .refused(Refusal(code, "because")))
            let reply = try await console.send(.GET, "/postern/v1/boards")
            #expect(reply.status == status)
            #expect(reply.code == Int64(code.rawValue))
            #expect(try reply.json?.string("error") == "because")
        }
    }

    @Test("name the layer that failed")
    func failedLayer() async throws {
        try await RunningConsole.with { console in
            await console.frontend.fail(with: .failed(layer: "crypto", text: "no luck"))
            let reply = try await console.send(.GET, "/parse/users")
            #expect(reply.status == 503)
            let error = "crypto: no luck; wait 10 s, then try again"
            #expect(reply.text == #"{"code":1,"error":"\#(error)"}"#)
        }
    }

    private static let databaseWords = "the database cannot be reached (database login): password "
        + "authentication failed for user \"postern\" at 192.0.2.7"

    @Test("tell a stranger nothing of the database", arguments: [
        (HTTPMethod.GET, "/parse/users", nil), (.GET, "/postern/v1/boards", nil),
        (.POST, "/postern/v1/claims", #"{"url":"URL"}"#),
        (.POST, "/parse/batch", #"{"requests":[{"method":"GET","path":"/parse/users"}]}"#),
    ] as [(HTTPMethod, String, String?)])
    func store(method: HTTPMethod, path: String, body: String?) async throws {
        let log = KeptLog()
        try await RunningConsole.with(logger: Logger(label: "console") { _ in log }) { console in
            await console.frontend.fail(
                with: .failed(layer: "store", text: Self.databaseWords))
            let reply = try await console.send(
                method, path, body?.replacing("URL", with: RouteTests.claimURL))
            #expect(reply.text.contains(
                #""code":1,"error":"store: the store is not available; wait 10 s, then try again""#
            ))
            #expect(path.hasSuffix("batch") || reply.headers.first(name: "Retry-After") == "10")
            #expect(reply.text.contains(#""name":"store-away""#))
            for word in ["database", "postern\"", "192.0.2.7", "password"] {
                #expect(!reply.text.contains(word), "\(word)")
            }
            #expect(path.hasSuffix("batch") || reply.status == 503)
        }
        #expect(log.lines.contains { $0.contains(Self.databaseWords) })
    }

    @Test("meet a wrong password and an unknown user alike")
    func login() async throws {
        try await RunningConsole.with { console in
            let wrong = try await console.send(
                .POST, "/parse/login", #"{"username":"alice","password":"wrong"}"#, token: nil)
            #expect(wrong.status == 404)
            #expect(wrong.code == 101)
            #expect(!wrong.text.contains("wrong\""))
        }
    }

    @Test("stop a request of another application before anything else", arguments: [
        (HTTPMethod.POST, "/parse/login"), (.GET, "/parse/sessions"),
        (.GET, "/postern/v1/boards"), (.POST, "/postern/v1/claims"),
    ])
    func application(method: HTTPMethod, path: String) async throws {
        try await RunningConsole.with { console in
            for application in [nil, "other", ""] {
                let reply = try await console.send(method, path, application: application)
                #expect(reply.status == 403)
                #expect(reply.text == #"{"error":"unauthorized"}"#)
            }
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("meet each session route without a live token", arguments: [
        (HTTPMethod.POST, "/parse/logout"), (.POST, "/parse/upgradeToRevocableSession"),
        (.GET, "/parse/users/me"), (.GET, "/parse/users"), (.GET, "/parse/users/uSeR000001"),
        (.PUT, "/parse/users/uSeR000001"), (.DELETE, "/parse/users/uSeR000001"),
        (.GET, "/parse/sessions"), (.POST, "/parse/sessions"), (.GET, "/parse/sessions/me"),
        (.PUT, "/parse/sessions/me"), (.DELETE, "/parse/sessions/me"),
        (.GET, "/parse/sessions/sEsS000002"), (.PUT, "/parse/sessions/sEsS000002"),
        (.DELETE, "/parse/sessions/sEsS000002"), (.POST, "/parse/classes/Reading"),
        (.GET, "/parse/classes/_Session"), (.PUT, "/parse/classes/_Role/rOlE000001"),
        (.POST, "/parse/roles"), (.DELETE, "/parse/roles/rOlE000001"),
        (.POST, "/postern/v1/claims"),
        (.GET, "/postern/v1/claims/\(StubFrontend.claimID)"), (.GET, "/postern/v1/boards"),
        (.DELETE, "/postern/v1/boards/\(StubFrontend.iid)"), (.GET, "/postern/v1/audit"),
        (.POST, "/postern/v1/broker"), (.PUT, "/postern/v1/users/bob"),
        (.PUT, "/postern/v1/users/bob/password"), (.POST, "/postern/v1/users/bob/revoke"),
        (.POST, "/postern/v1/sessions/sEsS000002/extend"),
        (.PUT, "/postern/v1/sessions/sEsS000002/scope"),
    ])
    func noSession(method: HTTPMethod, path: String) async throws {
        try await RunningConsole.with { console in
            for token in [nil, "r:stranger", "no token at all"] {
                let reply = try await console.send(method, path, token: token)
                #expect(reply.status == 400)
                #expect(reply.code == 209)
            }
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("never take a token that is over or no token at all for a wish to sign up", arguments: [
        "r:stranger", "no token at all", "", "r:",
    ])
    func noSignUp(token: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, "/parse/users", #"{"username":"eve","password":"password"}"#, token: token)
            #expect(reply.status == 400)
            #expect(reply.code == 209)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("name what is wrong with a body", arguments: [
        ("/parse/login", "", 107), ("/parse/login", "[]", 107), ("/parse/login", "{", 107),
        ("/parse/login", #"{"username":"alice"}"#, 201), ("/parse/login", "{}", 200),
        ("/parse/login", #"{"username":"","password":"x"}"#, 200),
        ("/parse/users", #"{"username":"bob","password":"x","isAdministrator":"yes"}"#, 111),
        ("/postern/v1/claims", "{}", 142),
        ("/postern/v1/claims", #"{"url":"https://authority.example/claim"}"#, 142),
        ("/postern/v1/claims", #"{"url":"x#v=2&i=1"}"#, 111),
        ("/postern/v1/claims", #"{"url":7}"#, 111),
    ] as [(String, String, Int64)])
    func badBody(path: String, body: String, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, path, body)
            #expect(reply.status == 400)
            #expect(reply.code == code)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("meet a claim for no time, for ever, or with a scope that is none", arguments: [
        #""durationSeconds":0"#, #""durationSeconds":-5"#, #""durationSeconds":31536001"#,
        #""durationSeconds":"30d""#, #""durationSeconds":9223372036854775807"#,
        #""scope":"everything""#,
    ])
    func badOrder(member: String) async throws {
        try await RunningConsole.with { console in
            let url = JSONValue.string(RouteTests.claimURL).text
            let reply = try await console.send(
                .POST, "/postern/v1/claims", "{\"url\":\(url),\(member)}")
            #expect(reply.status == 400)
            #expect(reply.code == 111)
            #expect(!reply.text.contains("c="))
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("meet parameters that name nothing", arguments: [
        (HTTPMethod.GET, "/parse/sessions/short", 404, 101),
        (.DELETE, "/parse/sessions/..%2Fusers", 404, 101),
        (.GET, "/postern/v1/claims/1", 404, 101),
        (.DELETE, "/postern/v1/boards/all", 404, 101),
        (.GET, "/postern/v1/audit?limit=0", 400, 142),
        (.GET, "/postern/v1/audit?limit=1001", 400, 142),
        (.GET, "/postern/v1/audit?limit=many", 400, 142),
        (.GET, "/postern/v1/audit?board=x", 400, 142),
        (.GET, "/postern/v1/boards?everyone=1", 400, 142),
    ] as [(HTTPMethod, String, Int, Int64)])
    func badParameter(method: HTTPMethod, path: String, status: Int, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(method, path)
            #expect(reply.status == status)
            #expect(reply.code == code)
            #expect(await console.frontend.calls.isEmpty)
        }
    }
}
