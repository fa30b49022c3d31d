import Foundation
import NIOHTTP1
import Sessions
import Testing
import Wire

@Suite("Console transport")
struct TransportTests {
    @Test("answers what it does not have with 404", arguments: [
        "/", "/parse", "/parse/", "/parse/classes", "/parse/schemas/_User", "/parse/files/x",
        "/postern/v1", "/postern/v2/info", "/claim/x", "/parse/sessions/sEsS000002/token",
        "/parse/../postern/v1/boards", "/parse/users%2Fme", "/parse/users/%zz", "/%ff",
    ])
    func noRoute(path: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.GET, path)
            #expect(reply.status == 404)
            #expect(reply.code == 101)
        }
    }

    @Test("takes a name for itself, however it is encoded", arguments: [
        "/p%61rse/sessions", "//parse//sessions/", "/parse/%73%65ssions?everyone=false",
    ])
    func encoding(path: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.GET, path)
            #expect(reply.status == 200)
            #expect(await console.frontend.calls == ["sessions everyone false"])
        }
    }

    @Test("answers another method with 405 and the ones it has", arguments: [
        (HTTPMethod.PUT, "/parse/login", "GET, POST"), (.GET, "/parse/batch", "POST"),
        (.PATCH, "/parse/sessions/sEsS000002", "GET, PUT, DELETE"),
        (.POST, "/parse/sessions/me", "GET, PUT, DELETE"),
        (.PUT, "/parse/users/me", "GET"), (.PUT, "/parse/classes/_User", "GET, POST"),
        (.DELETE, "/parse/users", "GET, POST"), (.POST, "/postern/v1/info", "GET"),
        (.OPTIONS, "/postern/v1/boards", "GET"), (.PATCH, "/claim", "GET"),
        (.PROPFIND, "/parse/users/me", "GET"), (.TRACE, "/", "GET"),
    ])
    func noMethod(method: HTTPMethod, path: String, allowed: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(method, path)
            #expect(reply.status == 405)
            #expect(reply.headers.first(name: "allow") == allowed)
            #expect(reply.code == 119)
        }
    }

    @Test("takes as much of a body as its route needs, and no more", arguments: [
        ("/parse/users", #"{"username":"bob","password":"x","pad":"PAD"}"#, 20),
        ("/parse/sessions", #"{"pad":"PAD"}"#, 4),
        ("/postern/v1/claims", #"{"url":"URL","pad":"PAD"}"#, 256),
    ])
    func bodyLimit(path: String, frame: String, kibibytes: Int) async throws {
        try await RunningConsole.with { console in
            let frame = frame.replacingOccurrences(of: "URL", with: RouteTests.claimURL)
            let count = kibibytes * 1024 - frame.utf8.count + 3
            let whole = frame.replacingOccurrences(
                of: "PAD", with: String(repeating: "p", count: count))
            #expect(try await console.send(.POST, path, whole).status == 201)
            let more = try await console.send(.POST, path, whole + " ")
            #expect(more.status == 413)
            #expect(more.code == 116)
        }
    }

    @Test("judges who asks before it reads a body", arguments: [
        ("postern", "r:stranger", "400"), ("other", StubFrontend.token, "403"),
    ], ["/postern/v1/claims", "/parse/sessions", "/parse/batch", "/parse/sessions/me"])
    func bodyUnread(
        asker: (String, String, String), path: String
    ) async throws {
        let (application, token, status) = asker
        try await RunningConsole.with { console in
            // Most of the promised body never comes; an answer comes all the same.
            let request = "POST \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                + "Content-Length: 100000\r\nX-Parse-Application-Id: \(application)\r\n"
                + "X-Parse-Session-Token: \(token)\r\n\r\n{"
            let answer = try await console.raw(Array(request.utf8))
            #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer.prefix(40))")
        }
    }

    @Test("refuses headers beyond its limits")
    func headerLimit() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .GET, "/postern/v1/info", headers: ["X-Long": String(repeating: "x", count: 9000)])
            #expect(reply.status == 431)
            #expect(reply.code == 116)
            #expect(reply.headers.first(name: "connection") == "close")
            #expect(try await console.send(.GET, "/postern/v1/info").status == 200)
        }
    }

    @Test("answers what is hardly HTTP, and lives on", arguments: [
        ("GET /postern/v1/audit?limit=%ff HTTP/1.1\r\n", "400"),
        ("GET /postern/v1/audit?limit=% HTTP/1.1\r\n", "400"),
        ("GET /postern/v1/audit?limit HTTP/1.1\r\n", "400"),
        ("GET /postern/v1/audit?=&&=&?%=# HTTP/1.1\r\n", "200"),
        ("GET /parse/sessions/%00 HTTP/1.1\r\n", "404"),
        ("GET /parse/sessions/%ff%fe HTTP/1.1\r\n", "404"),
        ("PUT /postern/v1/users/%ff/password HTTP/1.1\r\nContent-Length: 0\r\n", "404"),
        ("GET //// HTTP/1.1\r\n", "404"),
        ("GET * HTTP/1.1\r\n", "404"),
        ("GET http://elsewhere/postern/v1/info HTTP/1.1\r\n", "200"),
        ("BREW /claim HTTP/1.1\r\n", "40"),
        ("GET /claim HTTP/9.9\r\n", "400"),
        ("GET\r\n", "400"),
        ("POST /parse/users HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
         "400"),
        ("POST /parse/users HTTP/1.1\r\nContent-Length: -1\r\n", "400"),
        ("GET /claim HTTP/1.1\r\n" + String(repeating: "a: b\r\n", count: 100), "431"),
    ])
    func oddities(head: String, status: String) async throws {
        try await RunningConsole.with { console in
            let request = head + "Host: x\r\nConnection: close\r\n"
                + "X-Parse-Application-Id: postern\r\n"
                + "X-Parse-Session-Token: \(StubFrontend.token)\r\n\r\n"
            let answer = try await console.raw(Array(request.utf8))
            #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(answer.prefix(40))")
            #expect(try await console.send(.GET, "/parse/health").status == 200)
        }
    }

    @Test("lets nothing be kept, guessed or told of the server", arguments: [
        "/postern/v1/info", "/parse/users/me", "/claim", "/nowhere", "/parse/login",
    ])
    func headers(path: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.GET, path)
            #expect(reply.headers.first(name: "cache-control") == "no-store")
            #expect(reply.headers.first(name: "x-content-type-options") == "nosniff")
            #expect(!reply.headers.contains(name: "server"))
        }
    }

    @Test("writes dates that it can read again", arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_320_685_138_448, "2011-11-07T16:58:58.448Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        (253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
    ] as [(Int64, String)])
    func dates(milliseconds: Int64, text: String) {
        #expect(ParseDate.print(Timestamp(milliseconds: milliseconds)) == text)
        #expect(ParseDate.parse(text) == Timestamp(milliseconds: milliseconds))
    }

    @Test("takes no date that a calendar does not have", arguments: [
        "", "2011-11-07", "2011-02-29T00:00:00.000Z", "2011-13-01T00:00:00.000Z",
        "2011-11-07T24:00:00.000Z", "2011-11-07T20:58:34.448+00:00", "1969-12-31T23:59:59.000Z",
        "0000-00-00T00:00:00.000Z", "２011-11-07T20:58:34.448Z", "2011-11-07T20:58:34.44Z",
    ])
    func badDate(text: String) { #expect(ParseDate.parse(text) == nil) }
}
