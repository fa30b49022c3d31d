import NIOHTTP1
import Sessions
import Testing

@testable import AuthorityHTTP

@Suite("Keys by HTTP Basic")
struct BasicKeyTests {
    private static let master = "a master key: with + and a colon"

    private static func header(_ text: String) -> [String: String] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        let url = Base64URL.encode(Array(text.utf8)).map { character in
            switch character {
            case "-": alphabet[62]
            case "_": alphabet[63]
            default: character
            }
        }
        let padding = String(repeating: "=", count: (4 - url.count % 4) % 4)
        return ["Authorization": "Basic \(String(url))\(padding)"]
    }

    private func with(_ body: @Sendable (RunningConsole) async throws -> Void) async throws {
        var rules = RunningConsole.open
        rules.restAPIKey = SecretBytes(Array("the key".utf8))
        rules.masterKey = SecretBytes(Array(Self.master.utf8))
        try await RunningConsole.with(rules, body)
    }

    @Test("name the application and the client's key", arguments: [
        ("postern:javascript-key=the key", 200), ("postern:javascript-key=The key", 403),
        ("postern:javascript-key=", 403), ("postern:", 403), ("postern", 403), (":", 403),
        ("other:javascript-key=the key", 403), ("poster:n:javascript-key=the key", 403),
        ("postern:the key", 403),
    ])
    func client(text: String, status: Int) async throws {
        try await with { console in
            let reply = try await console.send(
                .GET, "/parse/sessions/me", application: nil, headers: Self.header(text))
            #expect(reply.status == status)
            let part = #"{"requests":[{"method":"GET","path":"/parse/sessions/me"}]}"#
            let batch = try await console.send(
                .POST, "/parse/batch", part, application: nil, headers: Self.header(text))
            #expect(batch.status == status)
        }
    }

    @Test("are the master's, who needs no session")
    func holder() async throws {
        try await with { console in
            let header = Self.header("postern:\(Self.master)")
            let reply = try await console.send(
                .GET, "/parse/users", application: nil, token: nil, headers: header)
            #expect(reply.status == 200 && reply.results?.count == 2)
            // Postern's own routes know no such keys.
            let own = try await console.send(
                .GET, "/postern/v1/boards", application: nil, token: nil, headers: header)
            #expect(own.status == 403)
        }
    }

    @Test("are counted where the master's is wrong, and then the right one counts no more")
    func tries() async throws {
        try await with { console in
            for _ in 1...MasterKeyTries.limit {
                let reply = try await console.send(
                    .GET, "/parse/users", application: nil, token: nil,
                    headers: Self.header("postern:a wrong master key"))
                #expect(reply.status == 403)
            }
            let right = try await console.send(
                .GET, "/parse/users", application: nil, token: nil,
                headers: Self.header("postern:\(Self.master)"))
            #expect(right.status == 429 && right.code == 155)
        }
    }

    @Test("of a proxy's own users change nothing")
    func proxy() async throws {
        try await with { console in
            var headers = Self.header("postern:somebody's password")
            headers["X-Parse-REST-API-Key"] = "the key"
            let named = try await console.send(.GET, "/parse/sessions/me", headers: headers)
            #expect(named.status == 200)
            let body = #"{"_ApplicationId":"postern","_JavaScriptKey":"the key","_method":"GET","#
                + #""_SessionToken":"\#(StubFrontend.token)"}"#
            let sdk = try await console.send(
                .POST, "/parse/sessions/me", body, application: nil, token: nil,
                headers: Self.header("eve:a password"))
            #expect(sdk.status == 200)
        }
    }

    @Test("and keys in the body at once are refused")
    func twice() async throws {
        try await with { console in
            let reply = try await console.send(
                .POST, "/parse/sessions/me", #"{"_MasterKey":"\#(Self.master)","_method":"GET"}"#,
                application: nil, headers: Self.header("postern:javascript-key=the key"))
            #expect(reply.code == 119)
        }
    }

    @Test("do not count for a web page, whose browser may add them by itself", arguments: [
        ["Origin": "https://evil.example"], ["Sec-Fetch-Site": "cross-site"],
        ["Sec-Fetch-Site": "same-site"], ["Sec-Fetch-Site": "same-origin"], ["Origin": "null"],
    ])
    func page(headers: [String: String]) async throws {
        try await with { console in
            let keys = Self.header("postern:\(Self.master)").merging(headers) { $1 }
            let reply = try await console.send(
                .GET, "/parse/users", application: nil, token: nil, headers: keys)
            #expect(reply.status == 403)
        }
    }

    @Test("in another form are none", arguments: [
        "Basic", "Basic ", "Basic !!!!", "Bearer cG9zdGVybjpqYXZhc2NyaXB0LWtleT10aGUga2V5",
        "Basic cG9zdGVybjpqYXZhc2NyaXB0LWtleT10aGUga2V5 x", "cG9zdGVybjo=", "",
    ])
    func malformed(header: String) async throws {
        try await with { console in
            let reply = try await console.send(
                .GET, "/parse/sessions/me", application: nil, headers: ["Authorization": header])
            #expect(reply.status == 403)
            let long = try await console.send(
                .GET, "/parse/sessions/me", application: nil,
                headers: Self.header("postern:" + String(repeating: "a", count: 1000)))
            #expect(long.status == 403)
            // Of no master key, because it was not read.
            let right = try await console.send(
                .GET, "/parse/sessions/me", application: nil,
                headers: Self.header("postern:javascript-key=the key"))
            #expect(right.status == 200)
        }
    }
}
