import AuthorityCore
import NIOHTTP1
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("The console's cookie")
struct CookieTests {
    private static let cookie = "postern_session=\(StubFrontend.token)"
    private static let login = "/postern/v1/console/login"
    private static let credentials = #"{"username":"alice","password":"correct"}"#

    /// Every route of the console that changes something, but the logins, which take no cookie.
    private static let changes: [(HTTPMethod, String)] = {
        let stub = StubFrontend()
        let routes = PosternRoutes(frontend: stub, parseMount: "/parse").routes
            + PageRoutes(frontend: stub, files: .none).routes
        return routes.filter { route in
            route.methodName != "GET" && !route.path.hasSuffix("/login") && route.takesCookie
                && !route.path.hasPrefix("/postern/v1/login/")
        }.map { route in
            let path = route.path.replacing(":iid", with: StubFrontend.iid)
                .replacing(":id", with: "sEsS000002").replacing(":name", with: "bob")
            return (HTTPMethod(rawValue: route.methodName), path)
        }
    }()

    /// What no page of ours sends.
    private static let forgeries: [[String: String]] = [
        [:],
        ["X-Postern-Console": "0"],
        ["X-Postern-Console": "1", "Origin": "https://evil.example"],
        ["X-Postern-Console": "1", "Origin": "null"],
        ["X-Postern-Console": "1", "Origin": "http://127.0.0.1"],
        ["X-Postern-Console": "1", "Sec-Fetch-Site": "cross-site"],
        ["X-Postern-Console": "1", "Sec-Fetch-Site": "same-site"],
        ["X-Postern-Console": "1", "Sec-Fetch-Site": "none"],
        ["Content-Type": "application/x-www-form-urlencoded"],
        ["Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site",
         "Origin": "https://evil.example"],
    ]

    @Test("counts for no request that our page did not make")
    func forged() async throws {
        try await RunningConsole.with { console in
            #expect(Self.changes.count >= 12)
            for (method, path) in Self.changes {
                #expect(path.hasPrefix("/postern/v1/"))
                for forgery in Self.forgeries {
                    let reply = try await console.send(
                        method, path, "{}", token: nil,
                        headers: forgery.merging(["Cookie": Self.cookie]) { $1 })
                    #expect(reply.status == 400 && reply.code == 119, "\(path) \(forgery)")
                    #expect(reply.headers["set-cookie"].isEmpty)
                }
            }
            // No login under somebody else's name, either.
            for forgery in Self.forgeries {
                let reply = try await console.send(
                    .POST, Self.login, Self.credentials, token: nil, headers: forgery)
                #expect(reply.code == 119)
                #expect(reply.headers["set-cookie"].isEmpty)
            }
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("is not read by another site either, where a browser says whose request it is")
    func read() async throws {
        try await RunningConsole.with { console in
            for forgery in Self.forgeries where forgery["Origin"] != nil
                || ["cross-site", "same-site"].contains(forgery["Sec-Fetch-Site"])
            {
                let reply = try await console.send(
                    .GET, "/postern/v1/me", token: nil,
                    headers: forgery.merging(["Cookie": Self.cookie]) { $1 })
                #expect(reply.code == 119, "\(forgery)")
            }
        }
    }

    @Test("counts for what our page does")
    func own() async throws {
        try await RunningConsole.with { console in
            let own = [
                "Cookie": Self.cookie, "X-Postern-Console": "1",
                "Origin": "http://127.0.0.1:\(console.port)", "Sec-Fetch-Site": "same-origin",
            ]
            let revoked = try await console.send(
                .DELETE, "/postern/v1/sessions/sEsS000002", token: nil, headers: own)
            #expect(revoked.status == 200)
            #expect(revoked.headers["set-cookie"].isEmpty)
            // The next visit is logged in already.
            let again = try await console.send(
                .GET, "/postern/v1/me", token: nil, headers: ["Cookie": Self.cookie])
            #expect(again.status == 200)
        }
    }

    @Test("bears no weight where it is doubtful whose it is")
    func doubtful() async throws {
        try await RunningConsole.with { console in
            let page = ["X-Postern-Console": "1"]
            // Two of the name: a sibling domain set one of them.
            let two = try await console.send(
                .GET, "/postern/v1/me", token: nil,
                headers: page.merging(["Cookie": "\(Self.cookie); \(Self.cookie)"]) { $1 })
            #expect(two.code == 209)
            // A header says who asks, and what it says counts, right or wrong.
            let beside = try await console.send(
                .GET, "/postern/v1/me", token: "r:stranger",
                headers: page.merging(["Cookie": Self.cookie]) { $1 })
            #expect(beside.code == 209)
            // Parse's routes know no cookie.
            let parse = try await console.send(
                .GET, "/parse/sessions/me", token: nil,
                headers: page.merging(["Cookie": Self.cookie]) { $1 })
            #expect(parse.code == 209)
            #expect(parse.headers["set-cookie"].isEmpty)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("is set by a login and gone with the session", arguments: [
        ("127.0.0.1", false), ("localhost:8080", false), ("[::1]:80", false),
        ("authority.example", true), ("127.0.0.1.evil.example", true),
    ])
    func attributes(host: String, isSecure: Bool) async throws {
        try await RunningConsole.with { console in
            let page = ["X-Postern-Console": "1", "Host": host]
            let name = isSecure ? "__Host-postern_session" : "postern_session"
            let rest = "; Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
            let login = try await console.send(
                .POST, Self.login, Self.credentials, token: nil, headers: page)
            #expect(login.status == 200)
            #expect(!login.text.contains("r:"))
            let cookie = try #require(login.headers.first(name: "set-cookie"))
            #expect(cookie.hasPrefix("\(name)=\(StubFrontend.token)\(rest); Max-Age="))
            let gone = "\(name)=\(rest); Max-Age=0"
            let logout = try await console.send(
                .POST, "/postern/v1/console/logout", token: nil,
                headers: page.merging(["Cookie": "\(name)=\(StubFrontend.token)"]) { $1 })
            #expect(logout.headers.first(name: "set-cookie") == gone)
            // So is one whose session ended elsewhere.
            let over = try await console.send(
                .GET, "/postern/v1/me", token: nil,
                headers: page.merging(["Cookie": "\(name)=\(StubFrontend.freshToken)"]) { $1 })
            #expect(over.code == 209)
            #expect(over.headers.first(name: "set-cookie") == gone)
        }
    }

    @Test("goes when one signs out the very session that asks")
    func ownSession() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .DELETE, "/postern/v1/sessions/sEsS000001", token: nil,
                headers: ["Cookie": Self.cookie, "X-Postern-Console": "1"])
            #expect(reply.status == 200)
            #expect(reply.headers.first(name: "set-cookie")?.hasSuffix("Max-Age=0") == true)
        }
    }
}

@Suite("Who asks behind a proxy")
struct ProxiedOriginTests {
    @Test("is whom our own proxy names, and nobody else", arguments: [
        ([] as [String], "9.9.9.9", "127.0.0.1"),
        (["127.0.0.1"], "9.9.9.9", "9.9.9.9"),
        (["127.0.0.1"], "1.1.1.1, 9.9.9.9", "9.9.9.9"),
        (["127.0.0.1", "10.0.0.7"], "1.1.1.1, 9.9.9.9, 10.0.0.7", "9.9.9.9"),
        (["127.0.0.1"], "9.9.9.9:4711", "9.9.9.9"),
        (["127.0.0.1"], "\"[2001:DB8::7]:443\"", "127.0.0.1"),
        (["127.0.0.1"], "[2001:DB8::7]:443", "2001:db8::7"),
        (["127.0.0.1"], "2001:db8::7", "2001:db8::7"),
        (["127.0.0.1"], "::ffff:9.9.9.9", "9.9.9.9"),
        (["127.0.0.1"], "9.9.9.9, unknown", "127.0.0.1"),
        (["127.0.0.1"], "", "127.0.0.1"), (["127.0.0.1"], ",,,", "127.0.0.1"),
        (["127.0.0.1"], "127.0.0.1", "127.0.0.1"),
        (["10.0.0.7"], "9.9.9.9", "127.0.0.1"),
    ])
    func origin(proxies: [String], header: String, origin: String) async throws {
        try await RunningConsole.with(proxies: proxies) { console in
            _ = try await console.send(
                .POST, "/parse/login", #"{"username":"alice","password":"correct"}"#, token: nil,
                headers: ["X-Forwarded-For": header])
            #expect(await console.frontend.calls == ["login alice from \(origin)"])
        }
    }
}
