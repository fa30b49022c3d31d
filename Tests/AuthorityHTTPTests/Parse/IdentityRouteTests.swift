import NIOHTTP1
import Sessions
import Testing
import Wire

@Suite("Console identity routes")
struct IdentityRouteTests {
    private static let own = "/parse/users/uSeR000001"
    private static let data = #"{"authData":{"facebook":{"id_token":"aa.bb.cc"}}}"#

    @Test("sign up with 201 and log in with 200, whatever session is there already", arguments: [
        (data, 201, "sign up facebook, a token of 8 bytes"),
        (#"{"authData":{"facebook":{"id_token":"aa.bb.cc","id":"again","access_token":"x"}}}"#,
         200, "sign up facebook, a token of 8 bytes, id again"),
        (#"{"authData":{"my-idp_2":{"id_token":"x","id":null}},"_ClientVersion":"js5"}"#,
         201, "sign up my-idp_2, a token of 1 bytes"),
    ] as [(String, Int, String)])
    func signUp(body: String, status: Int, call: String) async throws {
        try await RunningConsole.with { console in
            for token in [nil, StubFrontend.token] {
                let reply = try await console.send(.POST, "/parse/users", body, token: token)
                #expect(reply.status == status)
                #expect(try reply.json?.string("sessionToken") == StubFrontend.freshToken)
                #expect(reply.headers.first(name: "location")
                    == (status == 201 ? "/parse/users/uSeR000002" : nil))
                #expect(reply.json?.members["authData"] == nil)
                #expect(!reply.text.contains("id_token"))
            }
            #expect(await console.frontend.calls == [call, call])
        }
    }

    @Test("take a token of 16 KiB, and nothing longer")
    func bounds() async throws {
        try await RunningConsole.with { console in
            for (count, status, code) in [
                (16 * 1024, 201, nil), (16 * 1024 + 1, 400, 111), (20 * 1024, 413, 116),
            ] as [(Int, Int, Int64?)] {
                let token = String(repeating: "a", count: count)
                let reply = try await console.send(
                    .POST, "/parse/users", #"{"authData":{"x":{"id_token":"\#(token)"}}}"#,
                    token: nil)
                #expect(reply.status == status)
                #expect(reply.code == code)
            }
        }
    }

    @Test("link and unlink for oneself", arguments: [
        (data, "link facebook, a token of 8 bytes from 127.0.0.1"),
        (#"{"authData":{"facebook":{"id_token":"x","id":"7"}},"_SessionToken":"r:x"}"#,
         "link facebook, a token of 1 bytes, id 7 from 127.0.0.1"),
        (#"{"authData":{"facebook":null}}"#, "unlink facebook"),
    ])
    func link(body: String, call: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.PUT, Self.own, body)
            #expect(reply.status == 200)
            #expect(reply.text == #"{"updatedAt":"2023-11-14T22:13:29.000Z"}"#)
            #expect(await console.frontend.calls == [call])
        }
    }

    @Test("refuse what names no provider's id token", arguments: [
        (#"{"authData":{"password":{"id_token":"x"}}}"#, 119),
        (#"{"authData":{"Facebook":{"id_token":"x"}}}"#, 119),
        (#"{"authData":{"facebook":{"access_token":"x","id":"1"}}}"#, 119),
        (#"{"authData":{"facebook":"x"}}"#, 119),
        (#"{"authData":{"facebook":{"id_token":"x"},"other":{"id_token":"x"}}}"#, 119),
        (#"{"authData":{"facebook":{"id_token":7}}}"#, 111),
        (#"{"authData":{"facebook":{"id_token":""}}}"#, 111),
        (#"{"authData":{"facebook":{"id_token":"a b"}}}"#, 111),
        (#"{"authData":{"facebook":{"id_token":"x","id":7}}}"#, 111),
    ] as [(String, Int64)])
    func refused(body: String, code: Int64) async throws {
        try await RunningConsole.with { console in
            for (method, path) in [(HTTPMethod.POST, "/parse/users"), (.PUT, Self.own)] {
                let reply = try await console.send(method, path, body)
                #expect(reply.status == 400)
                #expect(reply.code == code, "\(method)")
            }
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("change nobody else's, nothing beside, and nothing for a restricted session")
    func others() async throws {
        try await RunningConsole.with { console in
            for body in [Self.data, #"{"authData":{"facebook":null}}"#] {
                let other = try await console.send(.PUT, "/parse/users/uSeR000002", body)
                #expect(other.code == 119)
                let nobody = try await console.send(.PUT, "/parse/users/uSeR000009", body)
                #expect(nobody.status == 404 && nobody.code == 101)
                for (method, path) in [(HTTPMethod.POST, "/parse/users"), (.PUT, Self.own)] {
                    let device = try await console.send(
                        method, path, body, token: StubFrontend.restrictedToken)
                    #expect(device.code == 119, "\(method)")
                    let dead = try await console.send(
                        method, path, body, token: StubFrontend.freshToken)
                    #expect(dead.code == 209, "\(method)")
                }
            }
            let both = try await console.send(
                .PUT, Self.own, #"{"authData":{"facebook":null},"password":"new"}"#)
            #expect(both.code == 119)
            let anonymous = try await console.send(
                .PUT, Self.own, #"{"authData":{"anonymous":null}}"#)
            #expect(anonymous.status == 200)
            #expect(await Set(console.frontend.calls) == [
                "user uSeR000002", "user uSeR000009", "change uSeR000001 not anonymous",
            ])
        }
    }

    @Test("show who one is elsewhere to oneself alone, without a token")
    func shown() async throws {
        try await RunningConsole.with { console in
            let expected = JSONValue.object(["facebook": .object(["id": .string("10158")])])
            for path in ["/parse/users/me", Self.own] {
                let own = try await console.send(.GET, path)
                #expect(own.json?.members["authData"] == expected)
                let device = try await console.send(
                    .GET, path, token: StubFrontend.restrictedToken)
                #expect(device.status == 200)
                #expect(device.json?.members["authData"] == nil)
            }
            let other = try await console.send(.GET, "/parse/users/uSeR000002")
            #expect(other.status == 200 && other.json?.members["authData"] == nil)
            let all = try await console.send(.GET, "/parse/users")
            #expect(!all.text.contains("authData"))
        }
    }
}
