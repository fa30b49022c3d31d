import NIOHTTP1
import Sessions
import Testing
import Wire

@Suite("Console session routes")
struct SessionRouteTests {
    private static let hostile = #""objectId":"eViL000001","user":"eViL","restricted":false,"#
        + #""createdWith":{"action":"login"},"createdAt":"2000-01-01T00:00:00.000Z","#
        + #""updatedAt":"x","expiresAt":null,"sessionToken":"r:mine","accessToken":"a","#
        + #""refreshToken":"rt:b","state":"active","lastSeen":1,"boardName":"x","#
        + #""username":"root","generation":0,"ACL":null,"#

    /// In a POST these are about the request, and refused beside headers.
    private static let aside = #""_method":"DELETE","_SessionToken":"r:other","#

    @Test("ask the frontend what the request asks for", arguments: [
        (HTTPMethod.GET, "/parse/sessions/me", nil as String?, 200, "session sEsS000001"),
        (.DELETE, "/parse/sessions/me", nil, 200, "logout sEsS000001"),
        (.PUT, "/parse/sessions/me", #"{"label":"shed"}"#, 200,
         #"update sEsS000001 {"label":"shed"}"#),
        (.PUT, "/parse/sessions/sEsS000002", #"{"label":null,"n":{"a":[1]}}"#, 200,
         #"update sEsS000002 {"label":null,"n":{"a":[1]}}"#),
        (.PUT, "/parse/sessions/sEsS000002", #"{"installationId":"\#(StubFrontend.iid)"}"#, 200,
         "update sEsS000002 {} at \(StubFrontend.iid)"),
        (.POST, "/parse/sessions", #"{"label":"shed"}"#, 201, #"make {"label":"shed"}"#),
        (.POST, "/parse/sessions", #"{"installationId":"\#(StubFrontend.iid)"}"#, 201,
         "make {} at \(StubFrontend.iid)"),
        (.POST, "/parse/upgradeToRevocableSession", nil, 200, "upgrade sEsS000001"),
        (.POST, "/parse/upgradeToRevocableSession", "{}", 200, "upgrade sEsS000001"),
        (.POST, "/postern/v1/sessions/sEsS000002/extend", #"{"durationSeconds":300}"#, 200,
         "extend sEsS000002 by 300 s"),
        (.POST, "/postern/v1/sessions/sEsS000002/extend", #"{"durationSeconds":31536000}"#, 200,
         "extend sEsS000002 by 31536000 s"),
        (.PUT, "/postern/v1/sessions/sEsS000002/scope", #"{"default":"deny"}"#, 200,
         #"scope of sEsS000002: {"default":"deny"}"#),
    ])
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

    @Test("pass over whatever the authority alone may say", arguments: [
        (HTTPMethod.POST, "/parse/sessions", #"make {"label":"shed"}"#),
        (.PUT, "/parse/sessions/me", #"update sEsS000001 {"label":"shed"}"#),
        (.PUT, "/parse/sessions/sEsS000002", #"update sEsS000002 {"label":"shed"}"#),
    ])
    func readOnly(method: HTTPMethod, path: String, call: String) async throws {
        try await RunningConsole.with { console in
            let aside = method == .POST ? "" : Self.aside
            let reply = try await console.send(
                method, path, "{\(Self.hostile)\(aside)\"label\":\"shed\"}")
            #expect(reply.json != nil)
            #expect(await console.frontend.calls == [call])
            #expect(!reply.text.contains("eViL") && !reply.text.contains("r:mine"))
        }
    }

    @Test("show a session with a token only where it is made, or one's own as `me`")
    func tokens() async throws {
        try await RunningConsole.with { console in
            let own = try await console.send(.GET, "/parse/sessions/me")
            #expect(try own.json?.string("sessionToken") == StubFrontend.token)
            let device = try await console.send(
                .GET, "/parse/sessions/me", token: StubFrontend.restrictedToken)
            #expect(try device.json?.string("sessionToken") == StubFrontend.restrictedToken)
            for (method, path) in [
                (HTTPMethod.GET, "/parse/sessions"), (.GET, "/parse/sessions/sEsS000001"),
                (.PUT, "/parse/sessions/me"), (.PUT, "/parse/sessions/sEsS000002"),
            ] {
                let reply = try await console.send(method, path, "{}")
                #expect(reply.status == 200)
                #expect(!reply.text.contains("r:") && !reply.text.contains("sessionToken"))
            }
        }
    }

    @Test("answer a session that was made with all that its device needs")
    func made() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, "/parse/sessions", #"{"label":"shed"}"#)
            #expect(reply.status == 201)
            #expect(reply.headers.first(name: "location") == "/parse/sessions/sEsS000003")
            #expect(reply.text == """
                {"createdAt":"2023-11-14T22:13:30.000Z","createdWith":{"action":"create",\
                "authProvider":"password"},"expiresAt":{"__type":"Date",\
                "iso":"2023-11-15T00:13:20.000Z"},"installationId":null,"label":"shed",\
                "objectId":"sEsS000003","restricted":true,\
                "sessionToken":"\(StubFrontend.freshToken)",\
                "updatedAt":"2023-11-14T22:13:30.000Z","user":{"__type":"Pointer",\
                "className":"_User","objectId":"uSeR000001"}}
                """)
            let upgraded = try await console.send(.POST, "/parse/upgradeToRevocableSession")
            #expect(try upgraded.json?.string("sessionToken") == StubFrontend.freshToken)
            #expect(try upgraded.json?.object("createdWith").string("action") == "upgrade")
        }
    }

    @Test("pair a session with the installation that the header names, once")
    func pairing() async throws {
        try await RunningConsole.with { console in
            let other = "7f1f7c0e-2b7a-4d4e-9c55-0123456789ab"
            let header = ["X-Parse-Installation-Id": StubFrontend.iid]
            for (body, token) in [
                ("{}", StubFrontend.token),
                (#"{"installationId":"\#(other)"}"#, StubFrontend.token),
                // This one has its installation; clients send the header all the same.
                (#"{"label":"x"}"#, StubFrontend.restrictedToken),
            ] {
                let reply = try await console.send(
                    .PUT, "/parse/sessions/me", body, token: token, headers: header)
                #expect(reply.status == 200)
            }
            // Elsewhere the header is of whoever asks, not of the session.
            _ = try await console.send(.POST, "/parse/sessions", "{}", headers: header)
            _ = try await console.send(.PUT, "/parse/sessions/sEsS000002", "{}", headers: header)
            #expect(await console.frontend.calls == [
                "update sEsS000001 {} at \(StubFrontend.iid)",
                "update sEsS000001 {} at \(other)", #"update sEsS000002 {"label":"x"}"#,
                "make {}", "update sEsS000002 {}",
            ])
        }
    }

    @Test("refuse what no session can be given", arguments: [
        (HTTPMethod.POST, "/parse/sessions", "", 107), (.POST, "/parse/sessions", "[]", 107),
        (.PUT, "/parse/sessions/me", "", 107), (.PUT, "/parse/sessions/me", "1", 107),
        (.PUT, "/parse/sessions/me", #"{"installationId":"x"}"#, 111),
        (.POST, "/parse/sessions", #"{"installationId":7}"#, 111),
        (.POST, "/postern/v1/sessions/sEsS000002/extend", "", 107),
        (.PUT, "/postern/v1/sessions/sEsS000002/scope", "", 107),
        (.PUT, "/postern/v1/sessions/sEsS000002/scope", "[]", 107),
        (.POST, "/postern/v1/sessions/sEsS000002/extend", "{}", 142),
        (.POST, "/postern/v1/sessions/sEsS000002/extend", #"{"durationSeconds":"1d"}"#, 111),
        (.POST, "/postern/v1/sessions/sEsS000002/extend", #"{"durationSeconds":299}"#, 142),
        (.POST, "/postern/v1/sessions/sEsS000002/extend", #"{"durationSeconds":31536001}"#, 142),
        (.POST, "/postern/v1/sessions/sEsS000002/extend",
         #"{"durationSeconds":9223372036854775807}"#, 142),
        (.POST, "/postern/v1/sessions/sEsS000002/extend", #"{"durationSeconds":-1}"#, 142),
    ] as [(HTTPMethod, String, String, Int64)])
    func refused(method: HTTPMethod, path: String, body: String, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(method, path, body)
            #expect(reply.status == 400)
            #expect(reply.code == code)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("give a claim custom fields, and tokens that were made elsewhere", arguments: [
        (#"{"label":"shed","restricted":false,"installationId":"x","user":"eve"}"#,
         #" custom {"label":"shed"}"#),
        (#"{"sessionToken":"r:elsewhere"}"#, " imported"),
        (#"{"sessionToken":"r:elsewhere","accessToken":"a.b.c","refreshToken":"rt:x","n":1}"#,
         #" custom {"n":1} imported with access"#),
        ("{}", ""), ("null", ""),
    ])
    func claim(session: String, noted: String) async throws {
        try await RunningConsole.with { console in
            await console.frontend.noteOnClaims(["its end is not known here"])
            let reply = try await console.send(
                .POST, "/postern/v1/claims",
                #"{"url":"\#(RouteTests.claimURL)","session":\#(session)}"#)
            #expect(reply.status == 201)
            #expect(
                reply.json?.members["notes"] == .array([.string("its end is not known here")]))
            #expect(!reply.text.contains("elsewhere"))
            #expect(await console.frontend.calls
                == ["claim greenhouse for 0 s scope none" + noted])
        }
    }

    @Test("refuse a claim with tokens that are none, and repeat nothing of them", arguments: [
        ("[]", 111), (#""r:elsewhere""#, 111), (#"{"sessionToken":"elsewhere"}"#, 111),
        (#"{"sessionToken":7}"#, 111), (#"{"accessToken":"elsewhere"}"#, 142),
        (#"{"sessionToken":"r:elsewhere","accessToken":""}"#, 111),
        (#"{"sessionToken":"r:elsewhere","accessToken":"a b"}"#, 111),
    ] as [(String, Int64)])
    func badImport(session: String, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .POST, "/postern/v1/claims",
                #"{"url":"\#(RouteTests.claimURL)","session":\#(session)}"#)
            #expect(reply.status == 400)
            #expect(reply.code == code)
            #expect(!reply.text.contains("elsewhere"))
            #expect(await console.frontend.calls.isEmpty)
        }
    }
}
