import AuthorityHTTP
import NIOHTTP1
import Sessions
import Testing

@Suite("Permissions of _Session")
struct PermissionTests {
    /// What each action is, by both names of the class.
    private static let requests: [(ClassPermissions.Action, HTTPMethod, String, String?)] = [
        (.find, .GET, "", nil), (.find, .GET, "?count=1&limit=0", nil),
        (.get, .GET, "/sEsS000002", nil), (.create, .POST, "", "{}"),
        (.update, .PUT, "/sEsS000002", #"{"label":"x"}"#), (.delete, .DELETE, "/sEsS000002", nil),
    ]

    @Test("are by default as Parse's documentation advises", arguments: [
        (ClassPermissions.Action.find, true), (.get, false), (.create, true), (.update, false),
        (.delete, true), (.addField, false),
    ])
    func advice(action: ClassPermissions.Action, isAllowed: Bool) {
        #expect(ClassPermissions().allows(action) == isAllowed)
    }

    @Test("each switch its own action, on every way to it", arguments: requests.indices)
    func switches(index: Int) async throws {
        let (action, method, path, body) = Self.requests[index]
        for other in ClassPermissions.Action.allCases {
            var rules = RunningConsole.open
            rules.sessionPermissions.set(other, false)
            try await RunningConsole.with(rules) { console in
                for name in ["/parse/sessions", "/parse/classes/_Session"] {
                    let reply = try await console.send(method, name + path, body)
                    if other == action {
                        #expect(reply.code == 119)
                        #expect(reply.text.contains(
                            "Permission denied for action \(action.rawValue) on class _Session."))
                    } else {
                        #expect(reply.status < 300, "\(reply.text)")
                    }
                    let batch = try await console.send(
                        .POST, "/parse/batch",
                        #"{"requests":[{"method":"\#(method)","path":"\#(name + path)""#
                            + #","body":\#(body ?? "null")}]}"#)
                    #expect(batch.text.contains("Permission denied") == (other == action))
                }
            }
        }
    }

    @Test("tell a field that is added from one that is there", arguments: [
        (HTTPMethod.POST, "/parse/sessions", #"{"label":"x"}"#, 119),
        (.POST, "/parse/sessions", "{}", nil),
        (.PUT, "/parse/sessions/sEsS000002", #"{"label":"x"}"#, nil),
        (.PUT, "/parse/sessions/sEsS000002", #"{"label":"x","more":1}"#, 119),
        (.PUT, "/parse/sessions/sEsS000002", #"{"restricted":false}"#, nil),
        (.PUT, "/parse/sessions/me", #"{"more":1}"#, nil),
    ] as [(HTTPMethod, String, String, Int64?)])
    func added(method: HTTPMethod, path: String, body: String, code: Int64?) async throws {
        var rules = RunningConsole.open
        rules.sessionPermissions.set(.addField, false)
        try await RunningConsole.with(rules) { console in
            let reply = try await console.send(method, path, body)
            #expect(reply.code == code)
        }
    }

    @Test("do not bind one's own session, our own routes, or the master key")
    func unbound() async throws {
        var rules = ParseRules()
        rules.masterKey = SecretBytes(Array("a master key of some length".utf8))
        for action in ClassPermissions.Action.allCases {
            rules.sessionPermissions.set(action, false)
        }
        try await RunningConsole.with(rules) { console in
            for (method, path, body) in [
                (HTTPMethod.GET, "/parse/sessions/me", nil as String?),
                (.PUT, "/parse/sessions/me", #"{"label":"x"}"#), (.POST, "/parse/logout", nil),
                (.GET, "/postern/v1/sessions/sEsS000002", nil),
            ] {
                #expect(try await console.send(method, path, body).status == 200)
            }
            for (_, method, path, body) in Self.requests {
                let reply = try await console.send(
                    method, "/parse/sessions" + path, body,
                    headers: ["X-Parse-Master-Key": "a master key of some length"])
                #expect(reply.status < 300, "\(reply.text)")
            }
        }
    }
}
