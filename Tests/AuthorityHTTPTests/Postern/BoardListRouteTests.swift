import NIOHTTP1
import Sessions
import Testing
import Wire

/// The page of boards that `GET /boards` answers with if it is asked for one.
@Suite("Pages of boards")
struct BoardListRouteTests {
    private static let path = "/postern/v1/boards"

    @Test("have a cursor, and numbers on the first page only")
    func pages() async throws {
        try await RunningConsole.with { console in
            let first = try await console.send(.GET, "\(Self.path)?limit=1")
            let members = try #require(first.json?.members)
            #expect(members["counts"]?.asObject?["offline"] == .integer(1))
            #expect(members["labels"] == .array([
                .object(["label": .string("barn"), "count": .integer(2)]),
            ]))
            #expect(first.results?.first?.asObject?["attention"] == .string("offline"))
            let cursor = try #require(members["next"]?.asString)
            let second = try await console.send(.GET, "\(Self.path)?limit=1&cursor=\(cursor)")
            #expect(second.json?.members["next"] == .null)
            #expect(second.json?.members["counts"] == nil)
            let calls = await console.frontend.calls
            #expect(calls == [
                "page everyone false attention 1 - -",
                "page everyone false attention 1 - - after greenhouse",
            ])
        }
    }

    @Test("add what a board sent where it is asked for")
    func live() async throws {
        try await RunningConsole.with(live: StubFeed()) { console in
            let plain = try await console.send(.GET, "\(Self.path)?limit=1")
            #expect(plain.results?.first?.asObject?["live"] == nil)
            let full = try await console.send(.GET, "\(Self.path)?live=true&limit=200")
            let live = full.results?.first?.asObject?["live"]?.asObject
            #expect(live?["minutes"]?.asObject != nil)
            #expect(live?["newest"]?.asArray?.isEmpty == false)
            // Each board needs a read, so such a page has fewer.
            #expect(await console.frontend.calls.last == "page everyone false attention 50 - -")
        }
    }

    @Test("are refused for a malformed parameter", arguments: [
        "limit=0", "limit=201", "limit=x", "sort=owner", "search=", "search=a%0Ab",
        "label=Barn", "label=a%20b", "label=", "live=yes", "cursor=", "cursor=2.x.YQ",
        "cursor=n.3f1f7c0e-2b7a-4d4e-9c55-0123456789ab.YQ",
        "sort=name&cursor=2.3f1f7c0e-2b7a-4d4e-9c55-0123456789ab.YQ",
        "cursor=9.3f1f7c0e-2b7a-4d4e-9c55-0123456789ab.YQ",
        "cursor=2.3f1f7c0e-2b7a-4d4e-9c55-0123456789ab.Y",
        "cursor=2.3f1f7c0e-2b7a-4d4e-9c55-0123456789ab.AA",
    ])
    func malformed(query: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.GET, "\(Self.path)?\(query)")
            #expect(reply.status == 400 && reply.code == 142)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("are the whole list, as before, without a parameter")
    func whole() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.GET, "\(Self.path)?everyone=true")
            #expect(Set((reply.json?.members ?? [:]).keys) == ["results"])
            #expect(await console.frontend.calls == ["boards everyone true"])
        }
    }

    @Test("show labels that PUT sets, and nothing else that it names", arguments: [
        (#"{"labels":["barn"]}"#, 200), (#"{"labels":[]}"#, 200),
        (#"{"name":"shed","labels":["a","b"]}"#, 200), (#"{"labels":["Barn"]}"#, 400),
        (#"{"labels":"barn"}"#, 400), (#"{"labels":[1]}"#, 400), (#"{}"#, 400),
        (#"{"name":"","labels":["a"]}"#, 400), (#"{"addLabels":["a"]}"#, 200),
        (#"{"addLabels":["a"],"removeLabels":["b"]}"#, 200), (#"{"addLabels":["A"]}"#, 400),
        (#"{"labels":["a"],"removeLabels":["b"]}"#, 400),
        (#"{"labels":["1","2","3","4","5","6","7","8","9"]}"#, 400),
    ])
    func labels(body: String, status: Int) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .PUT, "\(Self.path)/\(StubFrontend.iid)", body)
            #expect(reply.status == status)
            let calls = await console.frontend.calls
            #expect(calls.isEmpty == (status == 400))
            #expect(status == 400 || calls.contains { $0.hasPrefix("label") })
        }
    }
}
