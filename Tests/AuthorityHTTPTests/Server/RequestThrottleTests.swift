import AuthorityCore
import Hummingbird
import NIOHTTP1
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("Console load")
struct RequestThrottleTests {
    @Test("is told as 503 with 155, its name and a time to ask again")
    func told() throws {
        let refusal = AuthorityError.refused(.overloaded)
        for answer in [Answer.overloaded(retryAfter: .seconds(10)), Answer(refusal)] {
            #expect(answer.status == .serviceUnavailable)
            #expect(answer.headers[.retryAfter] == "10")
            guard case .json(let body) = answer.content else { throw WireError.missing("body") }
            #expect(body.asObject?["code"]?.asInteger == 155)
            #expect(body.asObject?["name"] == .string("overloaded"))
        }
    }

    @Test("refuses a flood of logins by name, also within a batch, and leaves what reads alone",
          .timeLimit(.minutes(1)))
    func flood() async throws {
        try await RunningConsole.with { console in
            await console.frontend.holdLogins()
            let body = #"{"username":"alice","password":"correct"}"#
            try await withThrowingTaskGroup(of: RunningConsole.Reply.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        try await console.send(.POST, "/parse/login", body, token: nil)
                    }
                }
                var refused = 0
                for try await reply in group {
                    guard reply.status != 200 else { continue }
                    #expect(reply.status == 503 && reply.code == 155)
                    #expect(reply.json?.members["name"] == .string("overloaded"))
                    #expect(reply.headers.first(name: "Retry-After") == "10")
                    refused += 1
                    guard refused == 40 - PasswordHashLimit.each else { continue }
                    try await expectNoTurn(at: console, body)
                    try await expectNoNeedOfTurn(at: console)
                    #expect(try await console.send(.GET, "/parse/sessions").status == 200)
                    await console.frontend.releaseLogins()
                }
                #expect(refused == 40 - PasswordHashLimit.each)
            }
        }
    }

    @Test("lets in whoever logged in from there before, while strangers take their turns",
          .timeLimit(.minutes(1)))
    func known() async throws {
        let load = RequestThrottle()
        load.know(["127.0.0.1"])
        try await RunningConsole.with(load: load) { console in
            let body = #"{"username":"alice","password":"correct"}"#
            // Every turn of a stranger is taken, by addresses that never logged in.
            let held = (0..<24).compactMap { load.turn(from: CountedOrigin("203.0.\($0).1")) }
            #expect(held.count == PasswordHashLimit.ofStrangers)
            let reply = try await console.send(.POST, "/parse/login", body, token: nil)
            #expect(reply.status == 200)
        }
    }

    @Test("refuses by name what reads, then all else, never what ends a session or is open",
          .timeLimit(.minutes(1)))
    func shed() async throws {
        let time = Moment()
        let load = RequestThrottle { time.now }
        for _ in 0..<Admission.fewest { load.begin() }
        try await RunningConsole.with(load: load) { console in
            time.pass(.milliseconds(1500))
            try await expectRefused(.GET, "/parse/users/me", after: 30, at: console)
            time.pass(.seconds(3))
            try await expectRefused(.GET, "/postern/v1/boards", after: 60, at: console)
            let button = "/postern/v1/console/providers/facebook"
            for path in [button, button + "/callback"] {
                try await expectRefused(.GET, path, after: 60, at: console)
            }
            try await expectRefused(.POST, "/parse/batch", after: 60, at: console)
            try await expectRefused(.POST, "/parse/users", after: 60, at: console)
            try await expectRefused(.PUT, "/parse/sessions/me", after: 60, at: console)
            for (method, path) in [
                (.GET, "/postern/v1/health"), (.DELETE, "/parse/sessions/sEsS000002"),
                (.POST, "/parse/logout"),
            ] as [(HTTPMethod, String)] {
                let body = method == .POST ? "{}" : nil
                #expect(try await console.send(method, path, body).status == 200, "\(path)")
            }
            for _ in 0..<Admission.fewest { load.end() }
            #expect(try await console.send(.GET, "/parse/users/me").status == 200)
        }
    }

    private final class Moment: Sendable {
        private let time = Mutex(Duration.zero)
        var now: Duration { time.withLock { $0 } }
        func pass(_ span: Duration) { time.withLock { $0 += span } }
    }

    private func expectRefused(
        _ method: HTTPMethod, _ path: String, after seconds: Int, at console: RunningConsole
    ) async throws {
        let reply = try await console.send(method, path, method == .GET ? nil : "{}")
        #expect(reply.status == 503 && reply.code == 155, "\(method) \(path)")
        #expect(reply.json?.members["name"] == .string("overloaded"))
        #expect(reply.headers.first(name: "Retry-After") == "\(seconds)")
    }

    /// Every route that hashes passwords, while none of this address has a turn.
    private func expectNoTurn(at console: RunningConsole, _ body: String) async throws {
        let routes: [(HTTPMethod, String)] = [
            (.GET, "/parse/login"), (.POST, "/parse/users"), (.POST, "/parse/classes/_User"),
            (.PUT, "/parse/users/uSeR000001"), (.PUT, "/parse/classes/_User/uSeR000001"),
            (.POST, "/postern/v1/login"), (.POST, "/postern/v1/console/login"),
            (.POST, "/postern/v1/users"), (.PUT, "/postern/v1/users/alice/password"),
        ]
        for (method, path) in routes {
            let reply = try await console.send(method, path, method == .GET ? nil : body)
            #expect(reply.status == 503 && reply.code == 155, "\(method) \(path)")
        }
        let each = #"{"method":"POST","path":"/parse/login","body":\#(body)}"#
        let other = #"{"method":"GET","path":"/parse/health"}"#
        let batch = try await console.send(
            .POST, "/parse/batch", #"{"requests":[\#(each),\#(other)]}"#)
        let results = try JSONValue(parsing: Array(batch.text.utf8)).asArray ?? []
        #expect(batch.status == 200 && results.count == 2)
        let error = results.first?.asObject?["error"]?.asObject
        #expect(error?["code"]?.asInteger == 155 && error?["name"] == .string("overloaded"))
        #expect(results.last?.asObject?["success"] != nil)
    }

    /// What hashes nothing, while none of this address has a turn.
    private func expectNoNeedOfTurn(at console: RunningConsole) async throws {
        let id = #"{"authData":{"anonymous":{"id":"0123456789abcdef"}}}"#
        let token = #"{"authData":{"facebook":{"id_token":"aa.bb.cc"}}}"#
        for (path, body, status) in [
            ("users", id, 201), ("classes/_User", id, 201), ("users", token, 201),
            ("users", #"{"username":"eve"}"#, 400), ("users", "[]", 400),
        ] {
            let reply = try await console.send(.POST, "/parse/\(path)", body, token: nil)
            #expect(reply.status == status, "\(path) \(body)")
        }
        let linked = try await console.send(.PUT, "/parse/users/uSeR000001", token)
        #expect(linked.status == 200)
        // In a batch the wait for a provider would hold up the other parts, and is bounded, too.
        let each = [id, token].map { #"{"method":"POST","path":"/parse/users","body":\#($0)}"# }
        let batch = try await console.send(
            .POST, "/parse/batch", #"{"requests":[\#(each.joined(separator: ","))]}"#, token: nil)
        let results = try JSONValue(parsing: Array(batch.text.utf8)).asArray
        #expect(results?.first?.asObject?["success"] != nil)
        #expect(results?.last?.asObject?["error"]?.asObject?["code"]?.asInteger == 155)
    }
}
