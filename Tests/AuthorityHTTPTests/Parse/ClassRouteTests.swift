import AuthorityCore
import Gate
import NIOHTTP1
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("The routes of classes")
struct ClassRouteTests {
    /// Alice's board wrote five readings and a lamp, and bob's board one of each.
    private func stored() async throws -> StoredWrites {
        let writes = try StoredWrites()
        for number in 1...Int64(5) { try await writes.write(number, #"{"n":\#(number)}"#) }
        try await writes.write(6, #"{"on":true}"#, "Lamp/update/main")
        let (other, bob) = (StoredWrites.other, StoredWrites.bob)
        try await writes.write(1, #"{"n":100}"#, board: other, owner: bob)
        try await writes.write(2, #"{"on":false}"#, "Lamp/update/main", board: other, owner: bob)
        // Bob owned alice's board before her.
        try await writes.write(7, #"{"n":200}"#, owner: bob)
        return writes
    }

    private func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let hex = String(byte, radix: 16, uppercase: true)
            return "%" + (hex.count == 1 ? "0" : "") + hex
        }.joined()
    }

    private func numbers(_ reply: RunningConsole.Reply) throws -> [Int64?] {
        try #require(reply.results, "\(reply.text)").map { $0.asObject?["n"]?.asInteger }
    }

    @Test("find what boards of the caller wrote, and nothing of a stranger or a former owner",
          arguments: [StubFrontend.token, StubFrontend.restrictedToken])
    func owner(token: String) async throws {
        let writes = try await stored()
        let (one, seven) = (StoredWrites.id(1), StoredWrites.id(7))
        let strange = [seven, StoredWrites.id(1, StoredWrites.other)]
        let all = ([one] + strange).map { "\"\($0)\"" }.joined(separator: ",")
        let named = escaped(#"{"objectId":{"$in":[\#(all)]}}"#)
        let elsewhere = escaped(#"{"installationId":"\#(StoredWrites.other)"}"#)
        try await RunningConsole.with(data: writes.store) { console in
            func get(_ path: String) async throws -> RunningConsole.Reply {
                try await console.send(.GET, "/parse/classes/\(path)", token: token)
            }
            #expect(try numbers(await get("Reading")) == [1, 2, 3, 4, 5])
            #expect(try numbers(await get("Reading?where=\(named)")) == [1])
            #expect(try numbers(await get("Reading?where=\(elsewhere)")).isEmpty)
            #expect(try await get("Reading?count=1&limit=0").text == #"{"count":5,"results":[]}"#)
            #expect(try await get("Lamp/main").json?.members["on"] == .bool(true))
            #expect(try await get("Reading/\(one)").json?.members["n"] == .integer(1))
            for id in strange + ["main", "a.b"] {
                let reply = try await get("Reading/\(id)")
                #expect((reply.status, reply.code) == (404, 101))
            }
        }
        try await writes.close()
    }

    @Test("show an object as Parse does, whatever its payload says of itself")
    func form() async throws {
        let writes = try StoredWrites()
        try await writes.write(1, """
            {"objectId":"mine","ACL":{"*":{"write":true}},"className":"_User","_secret":1,
             "createdAt":"1970-01-01T00:00:00.000Z","installationId":"x","app":"other","n":1}
            """)
        try await RunningConsole.with(data: writes.store) { console in
            let reply = try await console.send(
                .GET, "/parse/classes/Reading/\(StoredWrites.id(1))")
            #expect(reply.text == """
                {"ACL":{"uSeR000001":{"read":true}},"app":"thermo",\
                "createdAt":"2023-11-14T22:13:21.000Z","installationId":"\(StubFrontend.iid)",\
                "n":1,"objectId":"\(StoredWrites.id(1))","receivedAt":{"__type":"Date",\
                "iso":"2023-11-14T22:13:21.100Z"},"updatedAt":"2023-11-14T22:13:21.000Z"}
                """)
        }
        try await writes.close()
    }

    @Test("sort, page, count and choose by id", arguments: [
        ("order=-n&limit=2&skip=1", "{}", [4, 3], 5), ("order=-createdAt&limit=1", "{}", [5], 5),
        ("order=-createdAt", #"{"objectId":{"$in":["1","4","2"]}}"#, [4, 2, 1], 3),
        ("limit=1&skip=1", #"{"objectId":{"$in":["1","4","2"]},"n":{"$gt":1}}"#, [4], 2),
        ("order=-n", #"{"objectId":{"$in":["1","2"]},"installationId":"\#(StubFrontend.iid)"}"#,
         [2, 1], 2),
        ("", #"{"objectId":{"$in":["1"]},"installationId":"\#(StoredWrites.other)"}"#, [], 0),
        ("", #"{"objectId":{"$in":["1","9"]},"createdAt":{"$gt":"2023-11-14T22:13:21.000Z"}}"#,
         [], 0),
        ("", #"{"objectId":{"$in":[]}}"#, [], 0),
    ])
    func query(options: String, clause: String, found: [Int64?], count: Int64) async throws {
        let writes = try await stored()
        let clause = (1...9).reduce(clause) { text, number in
            text.replacing("\"\(number)\"", with: "\"\(StoredWrites.id(Int64(number)))\"")
        }
        try await RunningConsole.with(data: writes.store) { console in
            let reply = try await console.send(
                .GET, "/parse/classes/Reading?count=1&\(options)&where=\(escaped(clause))")
            #expect(try numbers(reply) == found)
            #expect(reply.json?.members["count"] == .integer(count))
        }
        try await writes.close()
    }

    @Test("write nothing, and read no class of our own", arguments: [
        (HTTPMethod.POST, "Reading", 119, "only boards write"),
        (.PUT, "Reading/a", 119, "only boards write"),
        (.DELETE, "Reading/a", 119, "only boards write"),
        (.GET, "_Secret", 119, "can be read"), (.GET, "a-b", 103, "class name"),
        (.GET, "Reading?limit=-1", 102, "limit"), (.GET, "Reading?wear=1", 102, "wear"),
        (.GET, "Reading?skip=100000000", 102, "skip"),
        (.GET, "Reading?where=%7B%22a%22:%7B%22$inQuery%22:%7B%7D%7D%7D", 102, "$inQuery"),
        (.GET, "Reading?where=%7B%22a%22:%7B%22$select%22:%7B%7D%7D%7D", 102, "$select"),
    ])
    func refused(method: HTTPMethod, path: String, code: Int64, words: String) async throws {
        let writes = try await stored()
        try await RunningConsole.with(data: writes.store) { console in
            let reply = try await console.send(
                method, "/parse/classes/\(path)", method == .GET ? nil : "{}")
            #expect((reply.status, reply.code) == (400, code))
            #expect(reply.text.contains(words), "\(reply.text)")
        }
        try await writes.close()
    }

    @Test("say that nothing is kept where [data] keep is \"0\"")
    func nothingKept() async throws {
        try await RunningConsole.with { console in
            for path in ["Reading", "Reading/a"] {
                let reply = try await console.send(.GET, "/parse/classes/\(path)")
                #expect((reply.status, reply.code) == (400, 119))
                #expect(reply.text.contains("keeps no data"))
            }
        }
    }

    @Test("refuse a page of more than 8 MiB")
    func large() async throws {
        let writes = try StoredWrites()
        let payload = #"{"text":"\#(String(repeating: "x", count: 250_000))"}"#
        try await writes.write(1...40, payload) { _ in "Reading/create" }
        try await RunningConsole.with(data: writes.store) { console in
            let all = try await console.send(.GET, "/parse/classes/Reading")
            #expect((all.status, all.code) == (400, 102))
            #expect(all.text.contains("smaller limit"))
        }
        try await writes.close()
    }

    @Test("keep no object of more than 64 KiB that updates made")
    func largeObject() async throws {
        let writes = try StoredWrites()
        let half = String(repeating: "x", count: 33_000)
        try await writes.write(1, #"{"a":"\#(half)"}"#, "Lamp/update/main")
        try await writes.write(2, #"{"b":"\#(half)"}"#, "Lamp/update/main")
        try await writes.write(3, #"{"c":1}"#, "Lamp/update/main")
        try await RunningConsole.with(data: writes.store) { console in
            let reply = try await console.send(.GET, "/parse/classes/Lamp/main")
            let members = try #require(reply.json?.members)
            #expect(members["a"] != nil && members["b"] == nil && members["c"] == .integer(1))
        }
        try await writes.close()
    }

    @Test("refuse a query that the store could not finish")
    func partial() async throws {
        try await RunningConsole.with(data: SeriesStore(isBusy: true)) { console in
            for query in ["", "?order=n", "?count=1&limit=0"] {
                let reply = try await console.send(.GET, "/parse/classes/Reading\(query)")
                #expect((reply.status, reply.code) == (400, 102))
                #expect(reply.text.contains("shorter time"))
            }
        }
    }
}
