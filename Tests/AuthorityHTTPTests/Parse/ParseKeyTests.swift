import AuthorityCore
import NIOHTTP1
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("Parse's keys")
struct ParseKeyTests {
    private final class Clock: Sendable {
        let now = Mutex(Duration.zero)
    }

    private static let master = "a master key of some length"

    private static var rules: ParseRules {
        var rules = ParseRules()
        rules.masterKey = SecretBytes(Array(master.utf8))
        return rules
    }

    @Test("let nobody in without the one that clients need, but into health", arguments: [
        (["X-Parse-REST-API-Key": "the key"], 200), (["X-Parse-JavaScript-Key": "the key"], 200),
        (["X-Parse-Client-Key": "the key"], 200), ([:], 403),
        (["X-Parse-REST-API-Key": "The key"], 403), (["X-Parse-REST-API-Key": ""], 403),
    ] as [([String: String], Int)])
    func clientKey(headers: [String: String], status: Int) async throws {
        var rules = Self.rules
        rules.restAPIKey = SecretBytes(Array("the key".utf8))
        try await RunningConsole.with(rules) { console in
            for path in ["/parse/users/me", "/parse/sessions", "/parse/roles"] {
                let reply = try await console.send(.GET, path, headers: headers)
                #expect(reply.status == status)
            }
            let login = try await console.send(
                .POST, "/parse/login", #"{"username":"alice","password":"correct"}"#, token: nil,
                headers: headers)
            #expect(login.status == status)
            for path in ["/parse/health", "/postern/v1/boards"] {
                #expect(try await console.send(.GET, path).status == 200)
            }
            let body = #"{"_ApplicationId":"postern","_JavaScriptKey":"the key","_method":"GET","#
                + #""_SessionToken":"\#(StubFrontend.token)"}"#
            let sdk = try await console.send(
                .POST, "/parse/users/me", body, application: nil, token: nil)
            #expect(sdk.status == 200)
        }
    }

    @Test("let the master's holder do what takes no session of his own", arguments: [
        (HTTPMethod.GET, "/parse/sessions", nil as String?, "sessions everyone true"),
        (.GET, "/parse/sessions/sEsS000002", nil, "session sEsS000002"),
        (.PUT, "/parse/sessions/sEsS000002", #"{"a":1}"#, #"update sEsS000002 {"a":1}"#),
        (.DELETE, "/parse/classes/_Session/sEsS000002", nil,
         "session sEsS000002, revoke sEsS000002"),
        (.GET, "/parse/users", nil, "users"),
        (.GET, "/parse/installations", nil, "installations by the master key"),
        (.DELETE, "/parse/roles/rOlE000001", nil, "delete role rOlE000001 by the master key"),
    ])
    func holder(method: HTTPMethod, path: String, body: String?, call: String) async throws {
        try await RunningConsole.with(Self.rules) { console in
            let header = ["X-Parse-Master-Key": Self.master]
            let reply = try await console.send(method, path, body, token: nil, headers: header)
            #expect(reply.status == 200, "\(reply.text)")
            #expect(await console.frontend.calls.joined(separator: ", ") == call)
        }
    }

    @Test("open nothing that takes a session", arguments: [
        (HTTPMethod.GET, "/parse/users/me"), (.POST, "/parse/logout"),
        (.GET, "/parse/sessions/me"), (.POST, "/parse/sessions"),
        (.POST, "/parse/upgradeToRevocableSession"), (.GET, "/postern/v1/boards"),
        (.GET, "/postern/v1/audit"),
    ])
    func noSession(method: HTTPMethod, path: String) async throws {
        try await RunningConsole.with(Self.rules) { console in
            let reply = try await console.send(
                method, path, "{}", token: nil, headers: ["X-Parse-Master-Key": Self.master])
            #expect(reply.code == 209)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("never take a master key that is wrong, or comes from elsewhere, for none", arguments: [
        (["X-Parse-Master-Key": "A master key of some length"], true, 403),
        (["X-Parse-Master-Key": ""], true, 403),
        (["X-Parse-Master-Key": master], false, 403),
        (["X-Parse-Master-Key": master, "X-Forwarded-For": "203.0.113.7"], true, 403),
        (["X-Parse-Master-Key": master, "Forwarded": "for=203.0.113.7"], true, 403),
        (["X-Parse-Master-Key": master], true, 200),
    ] as [([String: String], Bool, Int)])
    func wrong(headers: [String: String], isConfigured: Bool, status: Int) async throws {
        var rules = Self.rules
        if !isConfigured { rules.masterKey = nil }
        try await RunningConsole.with(rules) { console in
            for (method, path) in [
                (HTTPMethod.GET, "/parse/sessions"), (.GET, "/parse/users/me"),
                (.GET, "/parse/roles"),
            ] {
                let reply = try await console.send(method, path, headers: headers)
                #expect(reply.status == status)
            }
        }
    }

    @Test("are tried so often from one address and no more")
    func tries() async throws {
        try await RunningConsole.with(Self.rules, proxies: ["127.0.0.1"]) { console in
            let thief = "203.0.113.7"
            for _ in 0..<MasterKeyTries.limit {
                let reply = try await console.send(.GET, "/parse/users", headers: [
                    "X-Parse-Master-Key": "a wrong key of some length", "X-Forwarded-For": thief,
                ])
                #expect(reply.status == 403)
            }
            let more = try await console.send(.GET, "/parse/users", headers: [
                "X-Parse-Master-Key": Self.master, "X-Forwarded-For": thief,
            ])
            #expect(more.status == 429)
            #expect(more.code == 155)
            let wait = try #require(more.headers.first(name: "Retry-After").flatMap { Int($0) })
            #expect((200...300).contains(wait))
            #expect(more.text.contains(
                "too many wrong master keys; wait \(wait) s, then try again"))
            let other = try await console.send(.GET, "/parse/users", token: nil, headers: [
                "X-Parse-Master-Key": Self.master,
            ])
            #expect(other.status == 200)
            let without = try await console.send(
                .GET, "/parse/users", headers: ["X-Forwarded-For": thief])
            #expect(without.status == 200)
        }
    }

    @Test("count again when five minutes are over")
    func window() throws {
        let clock = Clock()
        let tries = MasterKeyTries(clock: { clock.now.withLock { $0 } })
        for _ in 0..<MasterKeyTries.limit { tries.countWrong(from: "192.0.2.1") }
        #expect(throws: AuthorityError.self) { try tries.admit("192.0.2.1") }
        clock.now.withLock { $0 = .seconds(300) }
        try tries.admit("192.0.2.1")
        tries.countWrong(from: "192.0.2.1")
        try tries.admit("192.0.2.1")
    }

    @Test("count from anywhere only where that is configured")
    func anywhere() async throws {
        var rules = Self.rules
        rules.takesMasterKeyFromAnywhere = true
        try await RunningConsole.with(rules) { console in
            let reply = try await console.send(.GET, "/parse/users", token: nil, headers: [
                "X-Parse-Master-Key": Self.master, "X-Forwarded-For": "203.0.113.7",
            ])
            #expect(reply.status == 200)
        }
    }

    @Test("make no dead token live")
    func dead() async throws {
        try await RunningConsole.with(Self.rules) { console in
            let reply = try await console.send(
                .GET, "/parse/sessions", token: "r:stranger",
                headers: ["X-Parse-Master-Key": Self.master])
            #expect(reply.code == 209)
        }
    }

    @Test("stand at another mount, too")
    func mount() async throws {
        var rules = Self.rules
        rules.mount = "/api/1"
        try await RunningConsole.with(rules) { console in
            #expect(try await console.send(.GET, "/api/1/users/me").status == 200)
            #expect(try await console.send(.GET, "/parse/users/me").status == 404)
            let made = try await console.send(.POST, "/api/1/sessions", "{}")
            #expect(made.headers.first(name: "location") == "/api/1/sessions/sEsS000003")
            let info = try await console.send(.GET, "/postern/v1/info", application: nil)
            #expect(try info.json?.string("parsePath") == "/api/1")
            let batch = try await console.send(
                .POST, "/api/1/batch",
                #"{"requests":[{"method":"POST","path":"/api/1/logout"}]}"#)
            #expect(batch.text == #"[{"success":{}}]"#)
        }
    }
}
