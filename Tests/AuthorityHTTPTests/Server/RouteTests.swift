import NIOHTTP1
import Sessions
import Testing
import Wire

@Suite("Console routes")
struct RouteTests {
    static let claimURL = ClaimURL(
        base: "https://authority.example/claim",
        installation: InstallationID(random: Array(0..<16)),
        deviceKey: [UInt8](repeating: 1, count: 32),
        secret: SecretBytes([UInt8](repeating: 2, count: 32)), name: "greenhouse"
    ).reveal()

    @Test("log in with Parse's answer, once with the token")
    func login() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, "/parse/login", #"{"username":"alice","password":"correct"}"#, token: nil)
            #expect(reply.status == 200)
            let json = try #require(reply.json)
            #expect(try json.string("sessionToken") == StubFrontend.token)
            #expect(try json.string("objectId") == "uSeR000001")
            #expect(try json.string("username") == "alice")
            #expect(try json.string("createdAt") == "2023-11-14T22:13:20.000Z")
            #expect(await console.frontend.calls == ["login alice from 127.0.0.1"])
        }
    }

    @Test("ask the frontend what the request asks for", arguments: [
        (HTTPMethod.POST, "/parse/logout", nil as String?, 200, "logout sEsS000001"),
        (.GET, "/parse/users", nil, 200, "users"),
        (.POST, "/parse/users", #"{"username":"bob","password":"pw","mayClaim":true}"#, 201,
         "add bob admin false claim true"),
        (.GET, "/parse/sessions", nil, 200, "sessions everyone false"),
        (.GET, "/parse/sessions?everyone=true", nil, 200, "sessions everyone true"),
        (.GET, "/parse/sessions/sEsS000002", nil, 200, "session sEsS000002"),
        (.DELETE, "/parse/sessions/sEsS000002", nil, 200,
         "session sEsS000002, revoke sEsS000002"),
        (.GET, "/postern/v1/claims/\(StubFrontend.claimID)", nil, 200,
         "claim \(StubFrontend.claimID)"),
        (.GET, "/postern/v1/boards?everyone=true", nil, 200, "boards everyone true"),
        (.DELETE, "/postern/v1/boards/\(StubFrontend.iid)", nil, 200,
         "release \(StubFrontend.iid)"),
        (.GET, "/postern/v1/audit", nil, 200, "audit 100 all"),
        (.GET, "/postern/v1/audit?limit=5&board=\(StubFrontend.iid)", nil, 200,
         "audit 5 \(StubFrontend.iid)"),
        (.POST, "/postern/v1/broker", nil, 200, "broker"),
    ])
    func calls(
        method: HTTPMethod, path: String, body: String?, status: Int, call: String
    ) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(method, path, body)
            #expect(reply.status == status)
            #expect(reply.json != nil)
            #expect(await console.frontend.calls.joined(separator: ", ") == call)
        }
    }

    @Test("start a claim and say where to follow it")
    func claim() async throws {
        try await RunningConsole.with { console in
            let body = JSONValue.object([
                "url": .string(Self.claimURL), "durationSeconds": .integer(3600),
                "scope": .object(["default": .string("deny")]),
            ]).text
            let reply = try await console.send(.POST, "/postern/v1/claims", body)
            #expect(reply.status == 201)
            #expect(
                reply.headers.first(name: "location")
                    == "/postern/v1/claims/\(StubFrontend.claimID)")
            let json = try #require(reply.json)
            #expect(try json.string("state") == "sent")
            #expect(json.members["notes"] == .array([]))
            #expect(try json.string("installationId") == StubFrontend.iid)
            #expect(try json.integer("expiresAt") == Int64(StubFrontend.start) + 600)
            #expect(await console.frontend.calls == [
                #"claim greenhouse for 3600 s scope {"default":"deny"}"#
            ])
        }
    }

    @Test("show sessions in Parse's form, without any token")
    func sessionForm() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.GET, "/parse/sessions")
            #expect(!reply.text.contains("r:"))
            let board = try #require(reply.results?.last?.asObject)
            #expect(board["user"] == .object([
                "__type": .string("Pointer"), "className": .string("_User"),
                "objectId": .string("uSeR000001"),
            ]))
            #expect(board["expiresAt"] == .object([
                "__type": .string("Date"), "iso": .string("2023-11-14T23:13:20.000Z"),
            ]))
            #expect(board["createdAt"] == .string("2023-11-14T22:13:21.000Z"))
            #expect(board["restricted"] == .bool(true))
            #expect(board["state"] == .string("active"))
            #expect(board["boardName"] == .string("greenhouse"))
            #expect(board["label"] == .string("porch"))
            #expect(board["generation"] == .integer(7))
            let own = try #require(reply.results?.first?.asObject)
            #expect(own["expiresAt"] == .null)
            #expect(own["installationId"] == .null)
            #expect(own["generation"] == .null)
        }
    }

    @Test("tell anyone which authority this is, and nothing else")
    func open() async throws {
        try await RunningConsole.with { console in
            let info = try await console.send(
                .GET, "/postern/v1/info", application: nil, token: nil)
            #expect(try info.json?.string("applicationId") == "postern")
            for path in ["/postern/v1/health", "/parse/health"] {
                let health = try await console.send(.GET, path, application: nil, token: nil)
                #expect(health.text == #"{"status":"ok"}"#)
            }
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("serve a claim page that runs and loads nothing")
    func page() async throws {
        try await RunningConsole.with { console in
            let page = try await console.send(.GET, "/claim", application: nil, token: nil)
            #expect(page.status == 200)
            #expect(page.headers.first(name: "content-type") == "text/html; charset=utf-8")
            let policy = try #require(page.headers.first(name: "content-security-policy"))
            #expect(policy.contains("default-src 'none'"))
            #expect(policy.contains("frame-ancestors 'none'"))
            #expect(page.text.contains("postern --authority https://authority.example claim -"))
            #expect(!page.text.contains("<script") && !page.text.contains("src="))
        }
    }
}
