import AuthorityCore
import AuthorityStore
import Sessions
import Testing
import Wire

/// Who × what × by which way, over the real store.
@Suite("Parse's API", .everyStoreInLong)
struct ParseWayTests {
    /// Every write of a protected class. `USER`, `OWN`, `FULL` and `ROLE` stand for the ids of
    /// the user, of the session that asks, of an unrestricted one, and of a role.
    private static let writes: [(String, String, [String: JSONValue]?)] = [
        ("POST", "/parse/users", ["username": "eve", "password": "a long password"]),
        ("POST", "/parse/classes/_User", ["username": "eve", "password": "a long password"]),
        ("PUT", "/parse/users/USER", ["password": "a long password"]),
        ("PUT", "/parse/classes/_User/USER", ["isAdministrator": true]),
        ("DELETE", "/parse/users/USER", nil), ("DELETE", "/parse/classes/_User/USER", nil),
        ("POST", "/parse/sessions", [:]), ("POST", "/parse/classes/_Session", [:]),
        ("PUT", "/parse/sessions/OWN", ["label": "x"]),
        ("PUT", "/parse/sessions/FULL", ["label": "x"]),
        ("PUT", "/parse/classes/_Session/OWN", ["restricted": false]),
        ("PUT", "/parse/sessions/me", ["label": "x"]),
        ("DELETE", "/parse/sessions/OWN", nil), ("DELETE", "/parse/sessions/FULL", nil),
        ("DELETE", "/parse/classes/_Session/FULL", nil),
        ("POST", "/parse/upgradeToRevocableSession", nil),
        ("POST", "/parse/roles", ["name": "Mine", "ACL": .object([:])]),
        ("POST", "/parse/classes/_Role", ["name": "Mine", "ACL": .object([:])]),
        ("PUT", "/parse/roles/ROLE", ["ACL": .object([:])]),
        ("PUT", "/parse/classes/_Role/ROLE", ["ACL": .object([:])]),
        ("DELETE", "/parse/roles/ROLE", nil), ("DELETE", "/parse/classes/_Role/ROLE", nil),
    ]

    private struct Cast {
        let ada: Caller
        let adaToken: String
        let device: (opened: LoggedIn, caller: Caller)
        let role: ObjectID

        init(_ house: House) async throws {
            let opened = try await house.authority.login(
                LoginAttempt(username: "ada", password: house.password, origin: "test"))
            adaToken = opened.token.reveal()
            ada = try await house.authority.caller(opened.token)
            device = try await house.device(by: ada)
            // Whose ACL lets anyone write it: a restricted session may not even so.
            var draft = RoleDraft.named("Gardeners")
            draft = RoleDraft(
                name: draft.name,
                acl: AccessList(json: .object([
                    "*": .object(["read": .bool(true), "write": .bool(true)])
                ])), users: draft.users, roles: draft.roles)
            role = try await house.authority.makeRole(draft, by: ada).role.objectID
        }

        func path(_ text: String) -> String {
            text.replacing("USER", with: ada.user.objectID.description)
                .replacing("OWN", with: device.caller.session.objectID.description)
                .replacing("FULL", with: ada.session.objectID.description)
                .replacing("ROLE", with: role.description)
        }
    }

    @Test("refuses a restricted session each write of a protected class", arguments: Way.allCases)
    func restricted(way: Way) async throws {
        let house = try await House(letsPeopleSignUp: true)
        let cast = try await Cast(house)
        let before = try await Census(house)
        try await HTTPHouse.with(house) { http in
            for (method, path, body) in Self.writes {
                let reply = try await way.send(
                    http, method, cast.path(path), body, token: cast.device.opened.token.reveal())
                #expect(reply.code == 119, "\(way) \(method) \(path): \(reply.text)")
            }
        }
        #expect(try await Census(house) == before)
    }

    @Test("says 209 to a token that is over, on each route and every way", arguments: Way.allCases)
    func dead(way: Way) async throws {
        let house = try await House(letsPeopleSignUp: true)
        let cast = try await Cast(house)
        let token = cast.device.opened.token.reveal()
        try await house.authority.logout(cast.device.caller)
        let before = try await Census(house)
        let reads: [(String, String, [String: JSONValue]?)] = [
            ("GET", "/parse/sessions", nil), ("GET", "/parse/sessions/me", nil),
            ("GET", "/parse/users/me", nil), ("GET", "/parse/roles", nil),
            ("GET", "/parse/roles/ROLE", nil), ("GET", "/parse/installations", nil),
            ("GET", "/parse/classes/_User", nil), ("GET", "/parse/classes/Anything", nil),
            ("POST", "/parse/logout", nil), ("PUT", "/parse/sessions/me", [:]),
            ("POST", "/parse/installations", ["deviceType": "embedded"]),
        ]
        try await HTTPHouse.with(house) { http in
            for (method, path, body) in Self.writes + reads {
                for token in [token, "r:nobody's", "nonsense", ""] {
                    let reply = try await way.send(
                        http, method, cast.path(path), body, token: token)
                    #expect(reply.code == 209, "\(way) \(method) \(path): \(reply.text)")
                    #expect(reply.status == 400)
                }
            }
        }
        #expect(try await Census(house) == before)
    }

    @Test("shows a restricted session restricted ones only, whatever it asks", arguments: [
        [:], ["where": .object(["restricted": false])], ["count": 1, "limit": 0],
        ["where": .object(["objectId": .object(["$regex": "^\\QFULL\\E"])]), "count": 1],
        ["where": .object(["$or": .array([.object(["restricted": false]), .object([:])])])],
        ["where": .object(["$nor": .array([.object(["restricted": true])])]), "count": 1],
        ["where": .object(["createdWith.action": .object(["$ne": "create"])]), "count": 1],
        ["where": .object(["user": .object(["$exists": true])]), "include": "user", "count": 1],
        ["where": .object(["sessionToken": .object(["$regex": "^r:"])]), "count": 1],
        ["where": .object(["$or": .array([.object(["sessionToken": "TOKEN"])])]), "count": 1],
        ["where": .object(["sessionToken": .object(["$exists": false])]), "count": 1],
        ["where": .object(["_session_token": "TOKEN"])],
        ["where": .object(["user": .object(["$inQuery": .object([:])])])],
        ["where": .object(["$relatedTo": .object([:])])], ["everyone": true], ["everyone": "true"],
        ["order": "sessionToken"], ["keys": "sessionToken,user.sessionToken"],
    ] as [[String: JSONValue]])
    func probing(options: [String: JSONValue]) async throws {
        let house = try await House()
        let cast = try await Cast(house)
        let text = JSONValue.object(options).text
            .replacing("FULL", with: cast.ada.session.objectID.description)
            .replacing("TOKEN", with: cast.adaToken)
        let asked = try JSONObject(parsing: Array(text.utf8)).members
        try await HTTPHouse.with(house) { http in
            for way in [Way.override, .bodyForm] {
                for path in ["/parse/sessions", "/parse/classes/_Session"] {
                    let reply = try await way.send(
                        http, "GET", path, asked, token: cast.device.opened.token.reveal())
                    let shown = reply.text
                    let areRestricted = reply.results.allSatisfy {
                        $0["restricted"] ?? true == true
                    }
                    #expect(areRestricted, "\(shown)")
                    #expect(reply.members["count"]?.asInteger ?? 0 <= 1, "\(shown)")
                    #expect(!shown.contains(cast.ada.session.objectID.description))
                    #expect(!shown.contains("r:"))
                }
            }
        }
    }

    @Test("lets a restricted session find no unrestricted one by its id", arguments: Way.allCases)
    func byID(way: Way) async throws {
        let house = try await House()
        let cast = try await Cast(house)
        let token = cast.device.opened.token.reveal()
        try await HTTPHouse.with(house) { http in
            for name in ["/parse/sessions", "/parse/classes/_Session"] {
                let full = try await way.send(
                    http, "GET", cast.path("\(name)/FULL"), token: token)
                #expect(full.code == 101)
                let own = try await way.send(http, "GET", cast.path("\(name)/OWN"), token: token)
                #expect(own.members["restricted"] == .bool(true), "\(own.text)")
            }
            // What the contract leaves it, on every way as well.
            let me = try await way.send(http, "GET", "/parse/sessions/me", token: token)
            #expect(me.members["sessionToken"] == .string(token))
            let board = try BoardDouble().installation.description
            let paired = try await way.send(
                http, "PUT", "/parse/sessions/me", ["installationId": .string(board)],
                token: token)
            #expect(paired.members["installationId"] == .string(board), "\(paired.text)")
            let out = try await way.send(http, "POST", "/parse/logout", token: token)
            #expect(out.value == .object([:]))
        }
    }

    @Test("takes no id for an authority: another person's sessions are not there",
          arguments: Way.allCases)
    func others(way: Way) async throws {
        let house = try await House(letsPeopleSignUp: true)
        let cast = try await Cast(house)
        _ = try await house.addUser("bob")
        let bob = try await house.authority.login(
            LoginAttempt(username: "bob", password: house.password, origin: "test"))
        let before = try await Census(house)
        try await HTTPHouse.with(house) { http in
            for (method, path, body) in [
                ("GET", "/parse/sessions/FULL", nil as [String: JSONValue]?),
                ("PUT", "/parse/sessions/FULL", ["label": "x"]),
                ("DELETE", "/parse/sessions/FULL", nil), ("DELETE", "/parse/sessions/OWN", nil),
                ("GET", "/parse/users/USER", nil), ("PUT", "/parse/users/USER", ["password": "x"]),
            ] {
                let reply = try await way.send(
                    http, method, cast.path(path), body, token: bob.token.reveal())
                #expect(reply.code == 101, "\(way) \(method) \(path): \(reply.text)")
            }
            let list = try await way.send(
                http, "GET", "/parse/sessions", token: bob.token.reveal())
            #expect(list.results.allSatisfy { $0["username"] == .string("bob") })
            let found = try await way.send(
                http, "GET", "/parse/sessions", nil, token: bob.token.reveal())
            #expect(!found.text.contains(cast.ada.session.objectID.description))
        }
        #expect(try await Census(house) == before)
    }

    /// Source: CVE-2026-32742 of Parse server.
    @Test("lets nobody say what is the authority's to say", arguments: Way.allCases)
    func hostile(way: Way) async throws {
        let house = try await House(letsPeopleSignUp: true)
        let cast = try await Cast(house)
        let hostile: [String: JSONValue] = [
            "objectId": "eViL000001", "sessionToken": "r:mine", "restricted": false,
            "createdWith": .object(["action": "login"]), "expiresAt": .null,
            "user": .object(["objectId": "eViL000002"]), "createdAt": "2000-01-01T00:00:00.000Z",
            "isAdministrator": true, "mayClaim": true, "state": "pending",
        ]
        try await HTTPHouse.with(house) { http in
            let made = try await way.send(
                http, "POST", "/parse/sessions", hostile, token: cast.adaToken)
            let eve: [String: JSONValue] = ["username": "eve", "password": "a long password"]
            for name in [
                "objectId", "sessionToken", "createdAt", "isAdministrator", "mayClaim", "ACL",
            ] {
                var sent = eve
                sent[name] = hostile[name] ?? .object([:])
                let refused = try await way.send(http, "POST", "/parse/users", sent, token: nil)
                #expect([105, 119].contains(refused.code), "\(name): \(refused.text)")
                #expect(refused.text.contains(name))
            }
            let signedUp = try await way.send(http, "POST", "/parse/users", eve, token: nil)
            for method in ["POST", "PUT"] {
                let path = method == "POST" ? "" : "/\(cast.ada.session.objectID)"
                let refused = try await way.send(
                    http, method, "/parse/sessions\(path)", ["ACL": .object([:])],
                    token: cast.adaToken)
                #expect(refused.code == 105 && refused.text.contains("ACL on a Session"))
            }
            let changed = try await way.send(
                http, "PUT", "/parse/sessions/\(made.members["objectId"]?.asString ?? "")",
                hostile, token: cast.adaToken)
            for reply in [made, signedUp, changed] {
                #expect(reply.members["code"] == nil, "\(reply.text)")
                #expect(!reply.text.contains("eViL") && !reply.text.contains("r:mine"))
            }
            for reply in [made, changed] {
                #expect(reply.members["restricted"] == .bool(true))
                #expect(reply.members["createdWith"]?.asObject?["action"] == "create")
                #expect(reply.members["expiresAt"] != .null)
                #expect(reply.members["user"]?.asObject?["objectId"]
                    == .string(cast.ada.user.objectID.description))
            }
            #expect(signedUp.members["isAdministrator"] == .bool(false))
            #expect(signedUp.members["mayClaim"] == .bool(false))
        }
    }
}

/// All that stands: who, which sessions in which state, and which roles.
private struct Census: Equatable {
    let users: [UserView]
    let sessions: [String]
    let roles: [RoleRecord]

    init(_ house: House) async throws {
        (users, sessions, roles) = try await house.store.read {
            transaction throws(AuthorityError) in
            let sessions = try transaction.sessions(of: nil, .current, .longest).map {
                "\($0.id) \($0.state) \($0.session.custom)"
            }
            return (
                try transaction.users().map(\.view), sessions.sorted(), try transaction.roles())
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension RoleDraft {
    /// A new role that its ACL shows to nobody.
    static func named(_ name: String) -> RoleDraft {
        RoleDraft(
            name: name, acl: AccessList(json: .object([:])), users: RelationChange(),
            roles: RelationChange())
    }
}
