import Sessions
import Testing
import Wire

@testable import AuthorityCore

/// `X-Parse-Request-Id` over the real stores.
@Suite("A request's id", .everyStore)
struct RequestIDTests {
    private static let id = "4b7b2c1e-9d0f-4d7e-8a55-0123456789ab"

    private struct Client: Sendable {
        let http: HTTPHouse
        let user: UserID
        let token: String

        init(_ http: HTTPHouse, _ name: String = "ada") async throws {
            let opened = try await http.house.authority.login(LoginAttempt(
                username: name, password: http.house.password, origin: "test"))
            self.http = http
            user = opened.user.objectID
            token = opened.token.reveal()
        }

        func send(
            _ method: String, _ path: String, _ body: String?, id: String? = RequestIDTests.id
        ) async throws -> HTTPHouse.Reply {
            var headers = ["X-Parse-Application-Id": "postern", "X-Parse-Session-Token": token]
            headers["X-Parse-Request-Id"] = id
            return try await http.send(method, "/parse\(path)", body, headers)
        }

        /// Counts the user's visits up.
        func visit(id: String? = RequestIDTests.id) async throws -> HTTPHouse.Reply {
            try await send(
                "PUT", "/users/\(user)", #"{"visits":{"__op":"Increment","amount":1}}"#, id: id)
        }

        func visits() async throws -> JSONValue? {
            try await send("GET", "/users/me", nil).members["visits"]
        }
    }

    private func with(_ body: @Sendable (Client) async throws -> Void) async throws {
        try await HTTPHouse.with(try await House(letsPeopleSignUp: true)) { http in
            try await body(try await Client(http))
        }
    }

    @Test("lets a change happen once, and reads as often as they come")
    func once() async throws {
        try await with { ada in
            #expect(try await ada.visit().status == 200)
            for _ in 1...2 {
                let again = try await ada.visit()
                #expect(again.status == 400 && again.code == 159)
                #expect(again.members["error"] == "Duplicate request")
            }
            #expect(try await ada.visits() == 1)
            // As the JavaScript SDK reads.
            for _ in 1...2 {
                let read = try await ada.send("POST", "/users/me", #"{"_method":"GET"}"#)
                #expect(read.members["visits"] == 1)
            }
            #expect(try await ada.visit(id: "another").status == 200)
            for _ in 1...2 { #expect(try await ada.visit(id: nil).status == 200) }
            #expect(try await ada.visits() == 4)
        }
    }

    @Test("counts on each route that makes or changes an object", arguments: [
        ("POST", "/users", #"{"username":"eve","password":"a long password"}"#),
        ("POST", "/sessions", #"{"a":1}"#), ("PUT", "/sessions/me", #"{"a":1}"#),
        ("POST", "/classes/_Role", #"{"name":"Mine","ACL":{}}"#),
        ("POST", "/installations", """
            {"deviceType":"ios","installationId":"0c1d2e3f-4a5b-4c6d-8e7f-8091a2b3c4d5"}
            """),
    ])
    func routes(method: String, path: String, body: String) async throws {
        try await with { ada in
            let first = try await ada.send(method, path, body)
            #expect(first.status < 300, "\(first.text)")
            #expect(try await ada.send(method, path, body).code == 159)
            // The method that counts is the one that the body names.
            let named = #"{"_method":"\#(method)","# + body.dropFirst()
            #expect(try await ada.send("POST", path, named).code == 159)
        }
    }

    @Test("is not used up by a request that is refused")
    func refused() async throws {
        try await with { ada in
            for name in ["%", "!", "%"] {
                let body = #"{"name":"\#(name)","ACL":{}}"#
                #expect(try await ada.send("POST", "/roles", body).code == 139)
            }
            let body = #"{"name":"Mine","ACL":{}}"#
            #expect(try await ada.send("POST", "/roles", body).status == 201)
            #expect(try await ada.send("POST", "/roles", body).code == 159)
            let taken = try await ada.send("POST", "/roles", body, id: "another")
            #expect(taken.code == 137)
        }
    }

    @Test("is that of one user, of one route, and of one address without a session")
    func holders() async throws {
        try await with { ada in
            _ = try await ada.http.house.addUser("bob")
            let bob = try await Client(ada.http, "bob")
            #expect(try await ada.visit().status == 200)
            #expect(try await bob.visit().status == 200)
            #expect(try await ada.send("POST", "/sessions", "{}").status == 201)
            let headers = ["X-Parse-Application-Id": "postern", "X-Parse-Request-Id": Self.id]
            for (name, code) in [("eve", nil), ("eva", 159)] as [(String, Int64?)] {
                let body = #"{"username":"\#(name)","password":"a long password"}"#
                #expect(try await ada.http.send("POST", "/parse/users", body, headers).code == code)
            }
            for client in [ada, bob] { #expect(try await client.visit().code == 159) }
        }
    }

    @Test("of a batch is one for each of its requests")
    func batch() async throws {
        try await with { ada in
            let part = #"{"method":"PUT","path":"/parse/users/\#(ada.user)","#
                + #""body":{"visits":{"__op":"Increment","amount":1}}}"#
            let body = #"{"requests":[\#(part),\#(part)]}"#
            let first = try await ada.send("POST", "/batch", body).value.asArray ?? []
            #expect(first.count == 2 && first.allSatisfy { $0.asObject?["success"] != nil })
            let again = try await ada.send("POST", "/batch", body).value.asArray ?? []
            let codes = again.map { $0.asObject?["error"]?.asObject?["code"] }
            #expect(codes == [159, 159])
            #expect(try await ada.visits() == 2)
            // The whole is another request than any of its parts.
            #expect(try await ada.visit().status == 200)
        }
    }

    @Test("is spent by one of many at once")
    func race() async throws {
        try await with { ada in
            let codes = try await withThrowingTaskGroup(of: Int64?.self) { group in
                for _ in 1...8 { group.addTask { try await ada.visit().code } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.filter { $0 == nil }.count == 1)
            #expect(codes.filter { $0 == 159 }.count == 7)
            #expect(try await ada.visits() == 1)
        }
    }

    @Test("is forgotten after five minutes, and its row deleted")
    func forgotten() async throws {
        try await with { ada in
            let house = ada.http.house
            #expect(try await ada.visit().status == 200)
            house.clock.advance(NamedRequest.memory - .milliseconds(1))
            #expect(try await ada.visit().code == 159)
            house.clock.advance(.milliseconds(1))
            // Whether the sweep was here or not.
            #expect(try await ada.visit().status == 200)
            #expect(try await ada.visit().code == 159)
            house.clock.advance(NamedRequest.memory)
            #expect(try await house.authority.sweep() == false)
            let left = try await house.store.read { tx throws(AuthorityError) in
                try tx.requestEnd(of: "user \(ada.user)", skipping: 0)
            }
            #expect(left == nil)
        }
    }

    @Test("is refused if it is no text of 1 to 100 visible characters", arguments: [
        "", "two words", String(repeating: "a", count: 101),
    ])
    func form(id: String) async throws {
        try await with { ada in
            let refused = try await ada.visit(id: id)
            #expect(refused.code == 142)
            let visits = try await ada.visits()
            #expect(visits == nil)
        }
        #expect(NamedRequest.ID(String(repeating: "~", count: 100)) != nil)
        for text in ["caf\u{e9}", "a\n", "\u{7f}"] { #expect(NamedRequest.ID(text) == nil) }
    }

    @Test("costs no store: of one holder there are a thousand in five minutes")
    func limit() async throws {
        try await with { ada in
            let (house, user) = (ada.http.house, ada.user)
            let now = house.clock.now
            try await house.store.transact { tx throws(AuthorityError) in
                for number in 1..<NamedRequest.limit {
                    _ = try tx.spendRequest(
                        hash: [UInt8(number >> 8), UInt8(number & 0xFF)], of: "user \(user)",
                        until: now + .seconds(60), at: now)
                }
            }
            #expect(try await ada.visit().status == 200)
            let refused = try await ada.visit(id: "another")
            #expect(refused.status == 429 && refused.code == 155)
            #expect(try await ada.visit(id: nil).status == 200)
            house.clock.advance(.seconds(60))
            #expect(try await ada.visit(id: "another").status == 200)
        }
    }
}
