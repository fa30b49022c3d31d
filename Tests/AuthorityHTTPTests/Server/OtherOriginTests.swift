import NIOHTTP1
import Sessions
import Testing

@testable import AuthorityHTTP

/// CORS: which web pages of other origins may use Parse's API.
@Suite("Other origins")
struct OtherOriginTests {
    private static let app = "https://app.example"
    private static let headers = ["access-control", "vary"]

    private func with(
        origins: Set<String> = [app, "http://localhost:3000"],
        _ body: @Sendable (RunningConsole) async throws -> Void
    ) async throws {
        var rules = RunningConsole.open
        rules.origins = origins
        try await RunningConsole.with(rules, body)
    }

    /// The headers of an answer that are about origins.
    private static func granted(_ reply: RunningConsole.Reply) -> [String] {
        reply.headers.map { "\($0.name.lowercased()): \($0.value)" }
            .filter { header in headers.contains { header.hasPrefix($0) } }.sorted()
    }

    private static let readable = [
        "access-control-allow-origin: \(app)",
        "access-control-expose-headers: Location, Retry-After", "vary: Origin",
    ]

    @Test("may read each answer of Parse's routes, also a refusal", arguments: [
        ("/parse/sessions/me", 200), ("/parse/users/nobody0001", 404), ("/parse/nowhere", 404),
        ("/parse/health", 200),
    ])
    func readable(path: String, status: Int) async throws {
        try await with { console in
            let reply = try await console.send(.GET, path, headers: ["Origin": Self.app])
            #expect(reply.status == status)
            #expect(Self.granted(reply) == Self.readable)
            let stranger = try await console.send(
                .GET, path, application: nil, token: nil, headers: ["Origin": Self.app])
            #expect(Self.granted(stranger) == Self.readable)
        }
    }

    @Test("may send what Parse's SDKs send, but no master key and no cookie")
    func preflight() async throws {
        try await with { console in
            let reply = try await console.send(
                .OPTIONS, "/parse/users/uSeR000001", application: nil, token: nil, headers: [
                    "Origin": "http://localhost:3000", "Access-Control-Request-Method": "PUT",
                    "Access-Control-Request-Headers": "x-parse-session-token",
                ])
            #expect(reply.status == 204)
            #expect(reply.headers.first(name: "Access-Control-Allow-Origin")
                == "http://localhost:3000")
            #expect(reply.headers.first(name: "Access-Control-Allow-Methods")
                == "GET, POST, PUT, DELETE")
            let names = reply.headers.first(name: "Access-Control-Allow-Headers") ?? ""
            for name in ["X-Parse-Session-Token", "X-Parse-Request-Id", "Content-Type"] {
                #expect(names.contains(name))
            }
            #expect(!names.contains("Master") && !names.contains("Postern"))
            #expect(!reply.headers.contains(name: "Access-Control-Allow-Credentials"))
            #expect(reply.headers.first(name: "Vary") == "Origin")
            #expect(await console.frontend.callers == 0)
        }
    }

    @Test("are only those that the configuration names, to the letter", arguments: [
        "https://app.example.evil.example", "https://APP.example", "http://app.example",
        "https://app.example:443", "https://app.example/", "https://evil.example", "null", "*", "",
    ])
    func others(origin: String) async throws {
        try await with { console in
            let reply = try await console.send(
                .GET, "/parse/sessions/me", headers: ["Origin": origin])
            #expect(reply.status == 200)
            #expect(Self.granted(reply) == ["vary: Origin"])
            let asked = try await console.send(
                .OPTIONS, "/parse/users", headers: [
                    "Origin": origin, "Access-Control-Request-Method": "GET",
                ])
            #expect(asked.status == 405)
            #expect(Self.granted(asked) == ["vary: Origin"])
        }
    }

    @Test("reach nothing but Parse's routes", arguments: [
        "/postern/v1/boards", "/postern/v1/info", "/console/app.js", "/", "/parse", "/parser/users",
        "/parse/../postern/v1/boards", "/postern/v1/../../parse/users", "/parse%2Fusers",
    ])
    func paths(path: String) async throws {
        try await with { console in
            for method in [HTTPMethod.GET, .OPTIONS] {
                let reply = try await console.send(method, path, headers: [
                    "Origin": Self.app, "Access-Control-Request-Method": "GET",
                ])
                // Nothing is at a path that only looks like one of Parse's.
                let isLike = path.hasPrefix("/parse/") || path == "/parse"
                let statuses: Set = [404, 204]
                #expect(isLike ? statuses.contains(reply.status) : Self.granted(reply).isEmpty)
            }
        }
    }

    @Test("are none without the key: every answer is as before")
    func off() async throws {
        try await with(origins: []) { console in
            let reply = try await console.send(
                .GET, "/parse/sessions/me", headers: ["Origin": Self.app])
            #expect(reply.status == 200 && Self.granted(reply).isEmpty)
            let asked = try await console.send(
                .OPTIONS, "/parse/users",
                headers: ["Origin": Self.app, "Access-Control-Request-Method": "GET"])
            #expect(asked.status == 405 && Self.granted(asked).isEmpty)
        }
    }
}
