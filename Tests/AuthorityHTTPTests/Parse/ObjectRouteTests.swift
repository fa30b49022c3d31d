import NIOHTTP1
import Sessions
import Testing
import Wire

@Suite("Installation and role routes")
struct ObjectRouteTests {
    private static let add = #"{"__op":"AddRelation","objects":[{"__type":"Pointer","#
        + #""className":"_User","objectId":"uSeR000002"}]}"#
    private static let both = #"{"__op":"Batch","ops":[\#(add),{"__op":"RemoveRelation","#
        + #""objects":[{"__type":"Pointer","className":"_User","objectId":"uSeR000001"}]}]}"#

    @Test("ask the frontend what the request asks for", arguments: [
        (HTTPMethod.POST, "/parse/installations",
         #"{"installationId":"\#(StubFrontend.iid)","deviceType":"ios","objectId":"x"}"#, 201,
         #"save {"deviceType":"ios"} at \#(StubFrontend.iid) by alice"#),
        (.POST, "/parse/installations", #"{"again":1,"createdAt":1,"user":1}"#, 200,
         #"save {"again":1,"user":1} by alice"#),
        (.PUT, "/parse/classes/_Installation/iNsT000001", #"{"channels":["a"]}"#, 200,
         #"update installation iNsT000001 {"channels":["a"]} by alice"#),
        (.GET, "/parse/installations/iNsT000001", nil, 200,
         "installation iNsT000001 by alice"),
        (.GET, "/parse/roles", nil, 200, "roles by alice"),
        (.GET, "/parse/classes/_Role/rOlE000001", nil, 200, "role rOlE000001 by alice"),
        (.POST, "/parse/roles", #"{"name":"Mine","ACL":{"*":{"read":true}},"users":\#(add)}"#,
         201, #"make role Mine {"*":{"read":true}} +uSeR000002 by alice"#),
        (.PUT, "/parse/roles/rOlE000001", #"{"users":\#(both)}"#, 200,
         "update role rOlE000001 +uSeR000002 -uSeR000001 by alice"),
        (.DELETE, "/parse/roles/rOlE000001", nil, 200, "delete role rOlE000001 by alice"),
    ] as [(HTTPMethod, String, String?, Int, String)])
    func calls(
        method: HTTPMethod, path: String, body: String?, status: Int, call: String
    ) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(method, path, body)
            #expect(reply.status == status, "\(reply.text)")
            #expect(await console.frontend.calls == [call])
        }
    }

    @Test("answer in Parse's forms")
    func forms() async throws {
        try await RunningConsole.with { console in
            let made = try await console.send(
                .POST, "/parse/installations", #"{"deviceType":"ios"}"#, token: nil)
            #expect(made.headers.first(name: "location") == "/parse/installations/iNsT000001")
            #expect(made.text
                == #"{"createdAt":"2023-11-14T22:13:20.000Z","objectId":"iNsT000001"}"#)
            let role = try await console.send(.GET, "/parse/roles/rOlE000001", token: nil)
            #expect(role.text == #"{"ACL":{"*":{"read":true}},"#
                + #""createdAt":"2023-11-14T22:13:20.000Z","#
                + #""name":"Gardeners","objectId":"rOlE000001","roles":{"__type":"Relation","#
                + #""className":"_Role"},"updatedAt":"2023-11-14T22:13:25.000Z","#
                + #""users":{"__type":"Relation","className":"_User"}}"#)
        }
    }

    @Test("refuse what is no role", arguments: [
        ("", 107), (#"{"name":7}"#, 111), (#"{"ACL":[]}"#, 111), (#"{"ACL":{"*":true}}"#, 111),
        (#"{"ACL":{"role:":{"read":true}}}"#, 111), (#"{"ACL":{"*":{"admin":true}}}"#, 111),
        (#"{"users":["x"]}"#, 111), (#"{"users":{"__op":"Add","objects":[]}}"#, 111),
        (#"{"users":{"__op":"AddRelation","objects":[{"className":"_Role","objectId":"a"}]}}"#,
         111),
        (#"{"roles":\#(add)}"#, 111), (#"{"colour":"red"}"#, 119),
    ] as [(String, Int64)])
    func badRole(body: String, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.PUT, "/parse/roles/rOlE000001", body)
            #expect(reply.code == code)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("find the members of a role by relation", arguments: [
        ("/parse/users", "users", 2, nil), ("/parse/classes/_User", "users", 2, nil),
        ("/parse/roles", "roles", 0, nil), ("/parse/roles", "users", nil, 102),
        ("/parse/users", "roles", nil, 102),
    ] as [(String, String, Int?, Int64?)])
    func related(path: String, key: String, count: Int?, code: Int64?) async throws {
        try await RunningConsole.with { console in
            let clause = #"{"$relatedTo":{"object":{"__type":"Pointer","className":"_Role","#
                + #""objectId":"rOlE000001"},"key":"\#(key)"}}"#
            let reply = try await console.send(
                .POST, path, #"{"_method":"GET","where":\#(clause)}"#)
            #expect(reply.results?.count == count)
            #expect(reply.code == code)
        }
    }
}
