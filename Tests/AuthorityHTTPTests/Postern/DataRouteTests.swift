import AuthorityCore
import NIOHTTP1
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("The route of a board's records")
struct DataRouteTests {
    private static let path = "/postern/v1/boards/\(StubFrontend.iid)/records"
    private static let start = Int64(StubFrontend.start) * 1000

    private func sequences(_ reply: RunningConsole.Reply) throws -> [Int64?] {
        try #require(reply.results, "\(reply.text)").map { $0.asObject?["seq"]?.asInteger }
    }

    @Test("shows every record in order, with its object and the names of the fields")
    func form() async throws {
        let writes = try StoredWrites()
        try await writes.write(1, #"{"celsius":21.5,"at":{"room":"hall"}}"#)
        try await writes.write(2, "open", "Door/update/front", wait: .seconds(90))
        try await RunningConsole.with(data: writes.store) { console in
            let reply = try await console.send(.GET, Self.path)
            let (first, second) = (Self.start + 1000, Self.start + 2000)
            #expect(reply.text == """
                {"fields":["at.room","celsius","value"],"next":null,"results":[\
                {"app":"thermo","class":"Reading","late":false,\
                "objectId":"\(StoredWrites.id(1))","op":"create",\
                "payload":"{\\"celsius\\":21.5,\\"at\\":{\\"room\\":\\"hall\\"}}",\
                "receivedAt":\(first + 100),"seq":1,"ts":\(first)},\
                {"app":"thermo","class":"Door","late":true,"objectId":"front","op":"update",\
                "payload":"open","receivedAt":\(second + 90_000),"seq":2,"ts":\(second)}]}
                """)
        }
        try await writes.close()
    }

    @Test("shows each owner the records of their own time alone",
          arguments: [StubFrontend.token, StubFrontend.restrictedToken])
    func owners(token: String) async throws {
        let writes = try StoredWrites()
        try await writes.write(1, #"{"hers":1}"#)
        try await writes.write(2, #"{"his":2}"#, owner: StoredWrites.bob)
        try await writes.write(3, #"{"his":3}"#, board: StoredWrites.other,
            owner: StoredWrites.bob)
        try await RunningConsole.with(data: writes.store) { console in
            // The board is somebody else's now.
            await console.frontend.fail(with: .noObject)
            let reply = try await console.send(.GET, Self.path, token: token)
            #expect(try sequences(reply) == [1])
            #expect(reply.json?.members["fields"] == .array([.string("hers")]))
            for board in [StoredWrites.other.description, "no-board"] {
                let none = try await console.send(
                    .GET, "/postern/v1/boards/\(board)/records", token: token)
                #expect((none.status, none.code) == (404, 101))
            }
        }
        try await writes.close()
    }

    @Test("chooses by class and time, and goes on after a page")
    func pages() async throws {
        let writes = try StoredWrites()
        try await writes.write(1...1003, #"{"n":1}"#) { $0 % 2 == 0 ? "A/create" : "B/create" }
        try await RunningConsole.with(data: writes.store) { console in
            let first = try await console.send(.GET, Self.path)
            #expect(try sequences(first) == (1...1000).map(Int64.init))
            let next = try #require(first.json?.members["next"]?.asString)
            #expect(next == "\(Self.start + 1_000_000)-1000")
            let second = try await console.send(.GET, "\(Self.path)?after=\(next)")
            #expect(try sequences(second) == [1001, 1002, 1003])
            #expect(second.json?.members["next"] == .null)
            #expect(second.json?.members["fields"] == nil)
            let some = try await console.send(.GET, """
                \(Self.path)?class=A&since=\(Self.start + 10_000)&until=\(Self.start + 16_000)
                """)
            #expect(try sequences(some) == [10, 12, 14])
        }
        try await writes.close()
    }

    @Test("ends a page after 1 MiB of payloads")
    func bytes() async throws {
        let writes = try StoredWrites()
        let payload = "\"" + String(repeating: "x", count: 200_000) + "\""
        try await writes.write(1...8, payload) { _ in "Reading/create" }
        try await RunningConsole.with(data: writes.store) { console in
            let first = try await console.send(.GET, Self.path)
            // Both are too long for the reader of JSON.
            let next = "\(Self.start + 6000)-6"
            #expect(first.text.contains(#""next":"\#(next)""#))
            #expect(first.text.split(separator: #""seq":"#).count == 7)
            let second = try await console.send(.GET, "\(Self.path)?after=\(next)")
            #expect(second.text.split(separator: #""seq":"#).count == 3)
            #expect(second.text.contains(#""seq":7,"#) && second.text.contains(#""seq":8,"#))
        }
        try await writes.close()
    }

    @Test("refuses what is malformed", arguments: [
        "class=a/b", "since=-1", "since=x", "until=99999999999999999999", "after=", "after=5",
        "after=5-", "after=-5-1", "after=5-1-", "after=5-1-a%2Fb", "after=5--1", "after=x-y",
    ])
    func malformed(query: String) async throws {
        let writes = try StoredWrites()
        try await RunningConsole.with(data: writes.store) { console in
            let reply = try await console.send(.GET, "\(Self.path)?\(query)")
            #expect((reply.status, reply.code) == (400, 142), "\(reply.text)")
        }
        try await writes.close()
    }

    @Test("needs a session, and says that nothing is kept where [data] keep is \"0\"")
    func access() async throws {
        try await RunningConsole.with { console in
            let stranger = try await console.send(.GET, Self.path, token: nil)
            #expect((stranger.status, stranger.code) == (400, 209))
            let none = try await console.send(.GET, Self.path)
            #expect((none.status, none.code) == (400, 119))
            #expect(none.text.contains("keeps no data"))
        }
    }
}
