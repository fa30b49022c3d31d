import AuthorityCore
import NIOHTTP1
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("The console's own routes")
struct ConsoleRouteTests {
    private static let board = "/postern/v1/boards/\(StubFrontend.iid)"

    private static let rows: [(HTTPMethod, String, String?, Int, String)] = [
        (.GET, "/postern/v1/me", nil, 200, "session sEsS000001"),
        (.GET, board, nil, 200, "board \(StubFrontend.iid)"),
        (.PUT, board, #"{"name":"shed"}"#, 200, "rename \(StubFrontend.iid) to shed"),
        (.GET, "\(board)/timeline", nil, 200, "timeline \(StubFrontend.iid)"),
        (.GET, "/postern/v1/sessions", nil, 200, "sessions everyone false"),
        (.PUT, "/postern/v1/sessions/sEsS000002", #"{"name":"My phone"}"#, 200,
         #"update sEsS000002 {"name":"My phone"}"#),
        (.PUT, "/postern/v1/sessions/sEsS000002", #"{"name":""}"#, 200,
         #"update sEsS000002 {"name":{"__op":"Delete"}}"#),
        (.DELETE, "/postern/v1/sessions/sEsS000002", nil, 200, "revoke sEsS000002"),
        (.POST, "/postern/v1/sessions/sEsS000002/extend", #"{"durationSeconds":600}"#, 200,
         "extend sEsS000002 by 600 s"),
        (.POST, "/postern/v1/sessions/sEsS000002/extend",
         #"{"durationSeconds":600,"shorten":true}"#, 200,
         "extend sEsS000002 by 600 s, or shorten it"),
        (.GET, "/postern/v1/claims", nil, 200, "open claims everyone false"),
        (.GET, "/postern/v1/claims?everyone=true", nil, 200, "open claims everyone true"),
        (.DELETE, "/postern/v1/claims/\(StubFrontend.claimID)", nil, 200,
         "end claim \(StubFrontend.claimID)"),
        (.DELETE, "/postern/v1/boards/\(StubFrontend.iid)/revocation", nil, 200,
         "forget the revocation of \(StubFrontend.iid)"),
        (.POST, "/postern/v1/boards/\(StubFrontend.iid)/renew", nil, 201,
         "renew \(StubFrontend.iid)"),
        (.POST, "/postern/v1/boards/\(StubFrontend.iid)/renew", #"{"durationMinutes":60}"#, 201,
         "renew \(StubFrontend.iid) for 3600 s"),
        (.POST, "/postern/v1/users/bob/revoke", #"{"keepBoards":true}"#, 200,
         "revoke all of bob but boards"),
        (.POST, "/postern/v1/users/bob/revoke", nil, 200, "revoke all of bob"),
        (.GET, "/postern/v1/users", nil, 200, "users"),
        (.POST, "/postern/v1/users", #"{"username":"bob","password":"pw"}"#, 201,
         "add bob admin false claim false"),
        (.PUT, "/postern/v1/users/bob", #"{"mayClaim":true}"#, 200, "bob may claim"),
        (.PUT, "/postern/v1/users/bob", #"{"enabled":false}"#, 200, "disable bob"),
        (.GET, "/postern/v1/audit?limit=5&actor=al&event=claim&since=9&until=10&before=70"
            + "&session=sEsS000002", nil, 200,
         "audit 5 all session sEsS000002 actor al event claim since 9 until 10 before 70"),
    ]

    @Test("ask the frontend what the request asks for", arguments: rows)
    func calls(
        method: HTTPMethod, path: String, body: String?, status: Int, call: String
    ) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(method, path, body)
            #expect(reply.status == status)
            #expect(reply.json != nil)
            #expect(await console.frontend.calls == [call])
        }
    }

    private static let malformed: [(HTTPMethod, String, String?, Int64)] = [
        (.PUT, board, #"{"name":""}"#, 111),
        (.PUT, board, #"{"name":"a\u001b[2J"}"#, 111), (.PUT, board, "{}", 142),
        (.PUT, board, #"{"name":"\#(String(repeating: "x", count: 65))"}"#, 111),
        (.PUT, "/postern/v1/sessions/sEsS000002", #"{"name":7}"#, 111),
        (.PUT, "/postern/v1/users/bob", "{}", 142),
        (.PUT, "/postern/v1/users/bob", #"{"mayClaim":"yes"}"#, 111),
        (.POST, "/postern/v1/sessions/sEsS000002/extend", #"{"durationSeconds":1}"#, 142),
        (.POST, "/postern/v1/sessions/sEsS000002/extend",
         #"{"durationSeconds":600,"shorten":1}"#, 111),
        (.POST, "/postern/v1/boards/\(StubFrontend.iid)/renew", #"{"durationMinutes":4}"#, 142),
        (.POST, "/postern/v1/boards/\(StubFrontend.iid)/renew", #"{"durationMinutes":"1"}"#, 111),
        (.GET, "/postern/v1/audit?limit=0", nil, 142),
        (.GET, "/postern/v1/audit?before=-1", nil, 142),
        (.GET, "/postern/v1/audit?since=soon", nil, 142),
        (.GET, "/postern/v1/audit/export?format=xlsx", nil, 142),
        (.GET, "/postern/v1/boards/not-an-id", nil, 101),
    ]

    @Test("refuse what is malformed before anything is done", arguments: malformed)
    func refused(method: HTTPMethod, path: String, body: String?, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(method, path, body)
            #expect(reply.code == code)
            #expect(reply.status == (code == 101 ? 404 : 400))
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("mark the session that asks, and it alone")
    func thisOne() async throws {
        try await RunningConsole.with { console in
            let all = try #require(try await console.send(.GET, "/postern/v1/sessions").results)
            let marks = all.map { $0.asObject?["isThisOne"]?.asBool }
            #expect(marks == [true, false])
            let me = try await console.send(.GET, "/postern/v1/me")
            #expect(try me.json?.object("user").string("username") == "alice")
            #expect(try me.json?.object("session").members["isThisOne"] != nil)
            #expect(!me.text.contains("r:"))
        }
    }

    private static let claimFailures: [(String, AuthorityError?, Int, String?)] = [
        (#"{"url":"https://elsewhere.example/"}"#, nil, 400,
         "claim-malformed"),
        (#"{"url":"URL"}"#, .failed(layer: AuthorityError.diskFull, text: "SQLite 13"), 503,
         "store-full"),
        (#"{"url":"URL","durationSeconds":0}"#, nil, 400, "duration-out-of-range"),
        (#"{"url":"URL"}"#, .refused(Refusal(.forbidden, "used", name: .claimUsed)), 400,
         "claim-used"),
        (#"{"url":"URL"}"#, .failed(layer: "MQTT", text: "no connection"), 503, "broker-away"),
        (#"{"url":"URL"}"#, .failed(layer: "crypto", text: "full"), 503, nil),
        (#"{"url":"URL"}"#, .failed(layer: "store", text: "full"), 503, "store-away"),
    ]

    @Test("say what a refusal of a claim is called", arguments: claimFailures)
    func names(
        body: String, failure: AuthorityError?, status: Int, name: String?
    ) async throws {
        try await RunningConsole.with { console in
            await console.frontend.fail(with: failure)
            let body = body.replacing("URL", with: RouteTests.claimURL)
            let reply = try await console.send(.POST, "/postern/v1/claims", body)
            #expect(reply.status == status)
            #expect(reply.json?.members["name"]?.asString == name)
        }
    }

    @Test("print a board with its own page's members")
    func detail() async throws {
        try await RunningConsole.with { console in
            let json = try #require(try await console.send(.GET, Self.board).json)
            for member in [
                "installationId", "name", "owner", "ownerId", "deviceKey", "sessionId",
                "sessionState", "sessionExpiresAt", "lastSeen", "status", "sessionAvailable",
                "statusSince", "version", "gaps", "lastDataMs", "queue", "refused", "scope",
                "policy", "refusals", "reportedAt", "openClaim", "scopePending",
            ] { #expect(json.members[member] != nil, "\(member)") }
            #expect(try json.object("scope").string("default") == "deny")
        }
    }
}

@Suite("Exported audit log")
struct AuditExportTests {
    @Test("is a file of the format that was asked for", arguments: [
        ("csv", "text/csv"), ("json", "application/json"),
    ])
    func formats(format: String, type: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .GET, "/postern/v1/audit/export?format=\(format)&actor=alice")
            #expect(reply.status == 200)
            #expect(reply.headers.first(name: "content-type")?.hasPrefix(type) == true)
            #expect(
                reply.headers.first(name: "content-disposition")
                    == "attachment; filename=\"postern-audit.\(format)\"")
            #expect(await console.frontend.calls == ["audit 1000 all actor alice"])
            let row = "7,2023-11-14T22:13:23.000Z,claim,alice,,,greenhouse\r\n"
            if format == "csv" {
                #expect(
                    reply.text
                        == "number,at,event,actor,installationId,sessionId,detail\r\n" + row)
            } else {
                let rows = try JSONValue(parsing: Array(reply.text.utf8)).asArray
                #expect(rows?.first?.asObject?["number"] == .integer(7))
            }
        }
    }

    @Test("defuses what a spreadsheet would run, and quotes what it must", arguments: [
        ("=1+1", "'=1+1"), ("+1+1", "'+1+1"), ("-A1", "'-A1"), ("@SUM(A1)", "'@SUM(A1)"),
        ("-1", "-1"), ("-1.5e3", "-1.5e3"),
        ("\t=1", "'\t=1"), ("\r=1", "\"'\r=1\""), ("a=b", "a=b"), ("", ""),
        ("a,b", "\"a,b\""), ("say \"x\"", "\"say \"\"x\"\"\""), ("a\nb", "\"a\nb\""),
        ("=\"x\",y", "\"'=\"\"x\"\",y\""), ("a\r\nb", "\"a\r\nb\""),
    ])
    func cells(cell: String, written: String) {
        #expect(CSVRow(cells: [cell, "z"]).text == written + ",z\r\n")
    }
}
