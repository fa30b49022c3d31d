import Gate
import NIOHTTP1
import Sessions
import Testing
import Wire

@Suite("Console user routes")
struct UserRouteTests {
    private static let own = "/parse/users/uSeR000001"
    private static let eve = #"{"username":"eve","password":"password","#

    @Test("log in where the header says, and nowhere else", arguments: [
        (nil, 200), (StubFrontend.iid, 200), (StubFrontend.iid.uppercased(), 400),
        ("phone", 400), ("", 400),
    ] as [(String?, Int)])
    func installation(header: String?, status: Int) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, "/parse/login", #"{"username":"alice","password":"correct"}"#, token: nil,
                headers: header.map { ["X-Parse-Installation-Id": $0] } ?? [:])
            #expect(reply.status == status)
            guard status == 200 else {
                #expect(reply.code == 142)
                #expect(await console.frontend.calls.isEmpty)
                return
            }
            let at = header.map { " at \($0)" } ?? ""
            #expect(await console.frontend.calls == ["login alice from 127.0.0.1\(at)"])
        }
    }

    @Test("sign up a person without a session, with e-mail and own fields", arguments: [
        (#"{"username":"eve","password":"password"}"#, 201, "sign up eve from 127.0.0.1"),
        (#"{"username":"eve","password":"p","isAdministrator":false,"mayClaim":null,"#
            + #""authData":{"anonymous":null},"enabled":true,"_ClientVersion":"js5.3.0"}"#, 201,
         "sign up eve from 127.0.0.1"),
        (#"{"username":"eve+x@example.com y","password":"p","email":"eve@example.com","#
            + #""phone":"555","state":"pending"}"#, 201,
         "sign up eve+x@example.com y from 127.0.0.1 e-mail eve@example.com "
            + #"{"phone":"555","state":"pending"}"#),
        (#"{"authData":{"anonymous":{"id":"0d9f"}},"phone":"5"}"#, 201,
         #"sign up anonymous, an id of 4 bytes {"phone":"5"}"#),
        (#"{"authData":{"anonymous":{"id":"0d9f"}}}"#, 201,
         "sign up anonymous, an id of 4 bytes"),
        (#"{"authData":{"anonymous":{"id":"again"}}}"#, 200,
         "sign up anonymous, an id of 5 bytes"),
    ] as [(String, Int, String)])
    func signUp(body: String, status: Int, call: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, "/parse/users", body, token: nil)
            #expect(reply.status == status)
            let json = try #require(reply.json)
            #expect(try json.string("sessionToken") == StubFrontend.freshToken)
            #expect(try json.string("objectId") == "uSeR000002")
            #expect(try json.string("createdAt") == "2023-11-14T22:13:20.000Z")
            #expect(json.members["isAdministrator"] == .bool(false))
            #expect(reply.headers.first(name: "location")
                == (status == 201 ? "/parse/users/uSeR000002" : nil))
            #expect(await console.frontend.calls == [call])
        }
    }

    @Test("name what is wrong with a wish to sign up", arguments: [
        ("", 107), ("{}", 200), (#"{"username":"eve"}"#, 201), (#"{"authData":{}}"#, 119),
        (#"{"authData":{"facebook":{"id":"1"}}}"#, 119), (#"{"authData":"anonymous"}"#, 111),
        (#"{"authData":{"anonymous":{"id":"1"},"facebook":{"id":"1"}}}"#, 119),
        (#"{"authData":{"anonymous":{}}}"#, 142), (#"{"authData":{"anonymous":{"id":7}}}"#, 111),
        (#"{"authData":{"anonymous":{"id":"1"}},"username":"alice"}"#, 142),
        (#"{"username":"eve","password":""}"#, 201), (#"{"username":"","password":"x"}"#, 200),
        (#"{"username":7,"password":"x"}"#, 200), (#"{"authData":{"anonymous":null}}"#, 200),
        (eve + #""objectId":"uSeR000001"}"#, 105), (eve + #""id":"x"}"#, 105),
        (eve + #""sessionToken":"r:mine"}"#, 119), (eve + #""isAdministrator":true}"#, 119),
        (eve + #""mayClaim":true}"#, 119), (eve + #""enabled":false}"#, 119),
        (eve + #""ACL":{}}"#, 119), (eve + #""emailVerified":true}"#, 119),
        (eve + #""createdAt":"2000-01-01T00:00:00.000Z"}"#, 119), (eve + #""_perm":1}"#, 105),
        (eve + #""email":7}"#, 111),
    ] as [(String, Int64)])
    func badSignUp(body: String, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, "/parse/users", body, token: nil)
            #expect(reply.status == 400)
            #expect(reply.code == code)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("ask the frontend what the request asks for", arguments: [
        (HTTPMethod.PUT, own, #"{"password":"new","oldPassword":"correct"}"#,
         ["password of alice with the old boards end from 127.0.0.1"]),
        (.PUT, "/parse/users/uSeR000002", #"{"password":"new","keepBoards":true}"#,
         ["user uSeR000002", "password of bob unasked boards stay from 127.0.0.1"]),
        (.PUT, own, "{}", []),
        (.PUT, own, #"{"objectId":"uSeR000001","username":"alice","isAdministrator":true,"#
            + #""enabled":true,"authData":{"facebook":{"id":"10158"}},"ACL":null,"#
            + #""createdAt":"2023-11-14T22:13:20.000Z","sessionToken":"\#(StubFrontend.token)"}"#,
         []),
        (.PUT, own, #"{"username":"root","email":"a@b","phone":"5"}"#,
         [#"change uSeR000001 name root e-mail a@b {"phone":"5"}"#]),
        (.PUT, own, #"{"email":{"__op":"Delete"},"authData":{"anonymous":{"id":"0d9f"}}}"#,
         ["change uSeR000001 no e-mail still anonymous, an id of 4 bytes"]),
        (.PUT, own, #"{"username":"eve","password":"new","authData":{"anonymous":null}}"#,
         ["password of alice unasked boards end from 127.0.0.1",
          "change uSeR000001 name eve not anonymous"]),
        (.PUT, "/parse/users/uSeR000002", #"{"email":"b@c"}"#,
         ["user uSeR000002", "change uSeR000002 e-mail b@c"]),
        (.PUT, "/postern/v1/users/alice/password",
         #"{"password":"new","oldPassword":"correct","keepBoards":true}"#,
         ["password of alice with the old boards stay from 127.0.0.1"]),
        (.PUT, "/postern/v1/users/b%40c.d/password", #"{"password":"new"}"#,
         ["password of b@c.d unasked boards end from 127.0.0.1"]),
        (.PUT, "/postern/v1/users/bob", #"{"enabled":false}"#, ["disable bob"]),
        (.PUT, "/postern/v1/users/bob", #"{"enabled":true,"isAdministrator":true}"#,
         ["enable bob"]),
        (.POST, "/postern/v1/users/bob/revoke", "", ["revoke all of bob"]),
        (.GET, own, "", []), (.GET, "/parse/users/uSeR000002", "", ["user uSeR000002"]),
    ])
    func calls(method: HTTPMethod, path: String, body: String, calls: [String]) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(method, path, body)
            #expect(reply.status == 200)
            #expect(reply.json != nil)
            #expect(await console.frontend.calls == calls)
        }
    }

    @Test("answer a change as Parse does: its time, and what only the authority knows")
    func changed() async throws {
        try await RunningConsole.with { console in
            let counted = try await console.send(
                .PUT, Self.own, #"{"visits":{"__op":"Increment","amount":2},"phone":"5"}"#)
            #expect(counted.json?.members["updatedAt"] == .string("2023-11-14T22:13:29.000Z"))
            #expect(counted.json?.members.keys.sorted() == ["updatedAt", "visits"])
            let password = try await console.send(
                .PUT, Self.own, #"{"password":"new","oldPassword":"correct"}"#)
            #expect(password.json?.members["sessionToken"] == .string(StubFrontend.token))
        }
    }

    @Test("log in by e-mail too, and say what is missing as Parse does", arguments: [
        (#"{"email":"a@b","password":"correct"}"#, 200, nil),
        (#"{"username":"a@b","password":"correct"}"#, 200, nil),
        (#"{"password":"correct"}"#, 400, 200), (#"{"username":"","password":"x"}"#, 400, 200),
        (#"{"username":"a"}"#, 400, 201), (#"{"email":"a@b","password":""}"#, 400, 201),
        (#"{"username":7,"password":"x"}"#, 404, 101),
        (#"{"username":"a","password":{"$ne":""}}"#, 404, 101),
    ] as [(String, Int, Int64?)])
    func byEmail(body: String, status: Int, code: Int64?) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, "/parse/login", body, token: nil)
            #expect(reply.status == status && reply.code == code)
            let way = body.contains("email") ? "by e-mail " : ""
            #expect(await console.frontend.calls
                == (code == nil ? ["login \(way)a@b from 127.0.0.1"] : []))
        }
    }

    @Test("show who is disabled, and count what ended")
    func forms() async throws {
        try await RunningConsole.with { console in
            let users = try await console.send(.GET, "/parse/users")
            #expect(users.results?.map { $0.asObject?["enabled"] } == [.bool(true), .bool(false)])
            let bob = try await console.send(
                .PUT, "/postern/v1/users/bob", #"{"enabled":false}"#)
            #expect(bob.json?.members["enabled"] == .bool(false))
            let ended = try await console.send(.POST, "/postern/v1/users/bob/revoke")
            #expect(ended.text == #"{"ended":3}"#)
        }
    }

    @Test("refuse what is not to be changed", arguments: [
        (HTTPMethod.PUT, own, "", 400 as Int, 107), (.PUT, own, #"{"username":7}"#, 400, 111),
        (.PUT, own, #"{"password":"new","isAdministrator":false}"#, 400, 119),
        (.PUT, own, #"{"sessionToken":"r:mine"}"#, 400, 119), (.PUT, own, #"{"_x":1}"#, 400, 105),
        (.PUT, own, #"{"objectId":"uSeR000002"}"#, 400, 105),
        (.PUT, own, #"{"emailVerified":true}"#, 400, 119), (.PUT, own, #"{"email":1}"#, 400, 111),
        (.PUT, own, #"{"ACL":{"*":{"read":true}}}"#, 400, 119),
        (.PUT, own, #"{"password":7}"#, 400, 111), (.DELETE, own, "", 400, 119),
        (.PUT, "/parse/users/..", #"{"password":"new"}"#, 404, 101),
        (.PUT, "/postern/v1/users/bob", "{}", 400, 142),
        (.PUT, "/postern/v1/users/bob", #"{"enabled":"no"}"#, 400, 111),
        (.PUT, "/postern/v1/users/bob/password", "{}", 400, 142),
        (.PUT, "/postern/v1/users/bob/password", #"{"password":"x","oldPassword":1}"#, 400, 111),
        (.PUT, "/postern/v1/users/bob/password", #"{"password":"x","keepBoards":1}"#, 400, 111),
    ] as [(HTTPMethod, String, String, Int, Int64)])
    func refused(
        method: HTTPMethod, path: String, body: String, status: Int, code: Int64
    ) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(method, path, body)
            #expect(reply.status == status)
            #expect(reply.code == code)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("know nobody of the id that another person has, or that nobody has")
    func others() async throws {
        try await RunningConsole.with { console in
            let nobody = try await console.send(.GET, "/parse/users/uSeR000009")
            #expect(nobody.status == 404 && nobody.code == 101)
            let device = try await console.send(
                .GET, "/parse/users/uSeR000002", token: StubFrontend.restrictedToken)
            #expect(device.status == 404 && device.code == 101)
            #expect(await console.frontend.calls == ["user uSeR000009"])
        }
    }

    @Test("let no one write a protected class, and hold no other", arguments: [
        (HTTPMethod.POST, "/parse/classes/_User", 400 as Int, 119),
        (.PUT, "/parse/classes/_User/uSeR000001", 400, 119),
        (.DELETE, "/parse/classes/_User/uSeR000001", 400, 119),
        (.POST, "/parse/classes/_Session", 400, 119),
        (.PUT, "/parse/classes/_Session/sEsS000002", 400, 119),
        (.DELETE, "/parse/classes/_Session/sEsS000002", 400, 119),
        (.POST, "/parse/classes/_Role", 400, 119), (.POST, "/parse/roles", 400, 119),
        (.PUT, "/parse/roles/rOlE000001", 400, 119),
        (.DELETE, "/parse/roles/rOlE000001", 400, 119),
        (.PUT, "/parse/users/uSeR000001", 400, 119),
        (.DELETE, "/parse/users/uSeR000001", 400, 119),
        (.POST, "/parse/classes/Reading", 400, 119), (.GET, "/parse/classes/Reading", 400, 119),
        (.POST, "/parse/classes/_Product", 400, 119), (.GET, "/parse/classes/_Product", 400, 119),
        (.POST, "/parse/classes/_Join:users:_Role", 400, 103),
        (.POST, "/parse/classes/%5FUser", 400, 119), (.GET, "/parse/classes/a%00b", 400, 103),
    ] as [(HTTPMethod, String, Int, Int64)])
    func classes(method: HTTPMethod, path: String, status: Int, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                method, path, #"{"password":"new"}"#, token: StubFrontend.restrictedToken)
            #expect(reply.status == status)
            #expect(reply.code == code)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("tell a restricted caller of a protected class what the gate says", arguments: [
        (HTTPMethod.POST, "/parse/classes/_User", ClassName.user),
        (.PUT, "/parse/users/uSeR000001", .user),
        (.DELETE, "/parse/classes/_Session/sEsS000002", .session),
        (.POST, "/parse/roles", .role), (.PUT, "/parse/classes/_Role/rOlE000001", .role),
    ])
    func gate(method: HTTPMethod, path: String, className: ClassName) async throws {
        let rejection = try #require(Gate.closure(of: className))
        try await RunningConsole.with { console in
            let reply = try await console.send(
                method, path, #"{"password":"new"}"#, token: StubFrontend.restrictedToken)
            #expect(reply.code == 119)
            let error = reply.json?.members["error"]?.asString
            #expect(error == "\(rejection.rule): \(rejection.reason)")
        }
    }
}
