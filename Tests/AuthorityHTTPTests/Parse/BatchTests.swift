import NIOHTTP1
import Sessions
import Testing
import Wire

@Suite("A batch")
struct BatchTests {
    private func batch(_ requests: [String]) -> String {
        #"{"requests":[\#(requests.joined(separator: ","))]}"#
    }

    private func request(_ method: String, _ path: String, _ body: String? = nil) -> String {
        #"{"method":"\#(method)","path":"\#(path)"\#(body.map { #","body":\#($0)"# } ?? "")}"#
    }

    @Test("does each of its requests by that one's own route, in their order")
    func each() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, "/parse/batch", batch([
                request("PUT", "/parse/sessions/sEsS000002", #"{"label":"x","expiresAt":1}"#),
                request("GET", "/parse/classes/_Session?limit=1&keys=objectId"),
                request("DELETE", "/parse/sessions/sEsS000002"),
                request("GET", "/parse/nowhere"), request("PATCH", "/parse/sessions"),
                request("POST", "/parse/sessions", "{}"),
            ]))
            #expect(reply.status == 200)
            let results = try JSONValue(parsing: Array(reply.text.utf8)).asArray ?? []
            #expect(results.count == 6)
            #expect(results[1].text == #"{"success":{"results":[{"createdAt":"#
                + #""2023-11-14T22:13:21.000Z","objectId":"sEsS000001","#
                + #""updatedAt":"2023-11-14T22:13:21.000Z"}]}}"#)
            #expect(results[2].text == #"{"success":{}}"#)
            let codes = results.map { $0.asObject?["error"]?.asObject?["code"]?.asInteger }
            #expect(codes == [nil, nil, nil, 101, 119, nil])
            #expect(results[5].asObject?["success"]?.asObject?["sessionToken"]
                == .string(StubFrontend.freshToken))
            #expect(await console.frontend.calls == [
                #"update sEsS000002 {"label":"x"}"#, "sessions everyone false",
                "session sEsS000002", "revoke sEsS000002", "make {}",
            ])
        }
    }

    @Test("has the same gate for each as if it came alone", arguments: [
        ("POST", "/parse/users", #"{"username":"eve","password":"pw"}"#),
        ("PUT", "/parse/users/uSeR000001", #"{"password":"pw"}"#),
        ("DELETE", "/parse/users/uSeR000001", nil), ("POST", "/parse/sessions", "{}"),
        ("PUT", "/parse/sessions/sEsS000001", #"{"a":1}"#),
        ("DELETE", "/parse/sessions/sEsS000001", nil), ("POST", "/parse/classes/_Session", "{}"),
        ("POST", "/parse/roles", #"{"name":"x","ACL":{}}"#),
        ("DELETE", "/parse/classes/_Role/rOlE000001", nil),
        ("POST", "/parse/batch", #"{"requests":[]}"#),
        ("POST", "/parse/../parse/batch", #"{"requests":[]}"#),
        ("GET", "/postern/v1/boards", nil), ("POST", "/postern/v1/broker", nil), ("GET", "/", nil),
        ("POST", "/sessions", "{}"), ("POST", "//elsewhere/parse/sessions", "{}"),
        ("POST", "/parse/sessions/me", #"{"_method":"DELETE"}"#),
        ("POST", "/parse/users", #"{"_SessionToken":"x","username":"eve","password":"pw"}"#),
        ("PUT", "/parse/users/uSeR000001", #"{"_MasterKey":"x","password":"pw"}"#),
    ] as [(String, String, String?)])
    func gate(method: String, path: String, body: String?) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, "/parse/batch", batch([request(method, path, body)]),
                token: StubFrontend.restrictedToken)
            #expect(reply.status == 200)
            let results = try JSONValue(parsing: Array(reply.text.utf8)).asArray ?? []
            let code = results.first?.asObject?["error"]?.asObject?["code"]?.asInteger
            #expect(code == 119 || code == 101, "\(reply.text)")
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("under a dead token is 209 as a whole, and does nothing", arguments: [
        "r:stranger", "nonsense", "",
    ])
    func dead(token: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, "/parse/batch",
                batch([request("POST", "/parse/users", #"{"username":"eve","password":"pw"}"#)]),
                token: token)
            #expect(reply.status == 400)
            #expect(reply.code == 209)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("is done as a whole or not at all where it cannot be read", arguments: [
        ("", 107), ("[]", 107), ("{}", 142), (#"{"requests":{}}"#, 111),
        (#"{"requests":[7]}"#, 111), (#"{"requests":[{"path":"/parse/logout"}]}"#, 142),
        (#"{"requests":[{"method":"POST"}]}"#, 142),
        (#"{"requests":[{"method":"POST","path":7}]}"#, 111),
        (#"{"requests":[{"method":"POST","path":"/parse/logout"},7]}"#, 111),
        (#"{"requests":[{"method":"POST","path":"/parse/logout","body":[]}]}"#, 111),
        (#"{"transaction":true,"requests":[]}"#, 119),
    ] as [(String, Int64)])
    func unread(body: String, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, "/parse/batch", body)
            #expect(reply.status == 400)
            #expect(reply.code == code)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("has at most 50 requests, and each the room of its route")
    func limits() async throws {
        try await RunningConsole.with { console in
            let one = request("GET", "/parse/health")
            let full = try await console.send(
                .POST, "/parse/batch", batch(Array(repeating: one, count: 50)))
            #expect(full.status == 200)
            let more = try await console.send(
                .POST, "/parse/batch", batch(Array(repeating: one, count: 51)))
            #expect(more.code == 116)
            let pad = #"{"pad":"\#(String(repeating: "p", count: 4096))"}"#
            let large = try await console.send(
                .POST, "/parse/batch", batch([request("POST", "/parse/sessions", pad)]))
            #expect(large.text.contains(#""code":116"#))
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("leaves nothing of a session that one of its requests ends")
    func loggedOut() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, "/parse/batch", batch([
                request("POST", "/parse/logout"), request("GET", "/parse/users/me"),
            ]))
            // The stub's token lives on; what counts is that it was asked for again.
            #expect(reply.status == 200)
            #expect(await console.frontend.callers == 3)
        }
    }
}
