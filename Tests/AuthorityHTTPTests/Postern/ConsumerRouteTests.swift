import NIOHTTP1
import Sessions
import Testing
import Wire

@testable import AuthorityCore
@testable import AuthorityHTTP

@Suite("Consumer routes")
struct ConsumerRouteTests {
    private static let path = "/postern/v1/consumers"

    @Test("read an order, and answer with the login", arguments: [
        (#"{"name":"hall"}"#, "hall all boards all classes for ever"),
        (#"{"name":"a","boards":["\#(StubFrontend.iid)"],"classes":["Reading","Alarm"]}"#,
         "a 1 boards Reading+Alarm for ever"),
        (#"{"name":"a","boards":null,"until":1800000000}"#,
         "a all boards all classes until 1800000000"),
        (#"{"name":"a","durationSeconds":60}"#, "a all boards all classes for 60 s"),
    ])
    func add(body: String, said: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, Self.path, body)
            #expect(reply.status == 201)
            #expect(await console.frontend.calls.first == "consumer.add \(said)")
            let members = try #require(reply.json?.members)
            #expect(members["password"] == .string("broker-secret"))
            #expect(members["topics"]
                == .array([.string("postern/v1/\(StubFrontend.iid)/data/#")]))
            #expect(members["filters"] == nil)
        }
    }

    @Test("refuse what is no order, and ask nobody", arguments: [
        "", "[]", "{}", #"{"name":"a b"}"#, #"{"name":1}"#, #"{"name":"a","boards":"all"}"#,
        #"{"name":"a","boards":["x"]}"#, #"{"name":"a","boards":["\#(StubFrontend.iid)",1]}"#,
        #"{"name":"a","boards":["+"]}"#, ##"{"name":"a","classes":["#"]}"##,
        ##"{"name":"a","classes":["Reading/#"]}"##, #"{"name":"a","classes":["+"]}"#,
        #"{"name":"a","until":"soon"}"#, #"{"name":"a","until":9223372036854775807}"#,
        #"{"name":"a","durationSeconds":0}"#,
        #"{"name":"a","durationSeconds":9223372036854775807}"#,
        #"{"name":"a","durationSeconds":60,"until":1800000000}"#,
    ])
    func wrong(body: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, Self.path, body)
            #expect((400..<500).contains(reply.status), "\(reply.text)")
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("have room for the largest order, and for no more")
    func size() async throws {
        try await RunningConsole.with { console in
            let boards = Array(repeating: "\"\(StubFrontend.iid)\"", count: 200)
            let classes = (0..<20).map { "\"C\(String(repeating: "x", count: 125))\($0)\"" }
            let order = #"{"name":"a","boards":[\#(boards.joined(separator: ","))],"#
                + #""classes":[\#(classes.joined(separator: ","))]}"#
            let largest = try await console.send(.POST, Self.path, order)
            #expect(largest.status == 201)
            let long = #"{"name":"a"\#(String(repeating: " ", count: 16 * 1024))}"#
            let refused = try await console.send(.POST, Self.path, long)
            #expect(refused.status == 413)
        }
    }

    @Test("list and remove by name")
    func listAndRemove() async throws {
        try await RunningConsole.with { console in
            let list = try await console.send(.GET, Self.path)
            #expect(list.text == #"{"results":[]}"#)
            for (name, status) in [("hall", 200), ("a%20b", 404)] {
                let reply = try await console.send(.DELETE, Self.path + "/\(name)")
                #expect(reply.status == status)
            }
            #expect(await console.frontend.calls == ["consumers", "consumer.remove hall"])
        }
    }
}
