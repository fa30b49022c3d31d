import AuthorityCore
import NIOHTTP1
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

/// Objects in the place of pointers: `include`, and the keys within them.
@Suite("An include")
struct IncludeTests {
    private static let alice = JSONValue.object([
        "__type": .string("Object"), "className": .string("_User"),
        "objectId": .string("uSeR000001"), "username": .string("alice"),
        "createdAt": .string("2023-11-14T22:13:20.000Z"),
        "updatedAt": .string("2023-11-14T22:13:20.000Z"), "isAdministrator": .bool(true),
        "mayClaim": .bool(true), "enabled": .bool(true),
    ])

    private func pointer(_ className: String, _ id: String) -> String {
        JSONValue.pointer(className, id).text
    }

    /// Readings of alice's board with pointers to all kinds of objects.
    private func stored() async throws -> StoredWrites {
        let writes = try StoredWrites()
        try await writes.write(1, #"{"name":"north","next":\#(pointer("Shed", "s2"))}"#,
            "Shed/update/s1")
        try await writes.write(2, #"{"name":"south","next":\#(pointer("Shed", "s1"))}"#,
            "Shed/update/s2")
        try await writes.write(1, #"{"name":"bob's"}"#, "Shed/update/s3",
            board: StoredWrites.other, owner: StoredWrites.bob)
        try await writes.write(3, """
            {"shed":\(pointer("Shed", "s1")),"bobs":\(pointer("Shed", "s3")),
             "gone":\(pointer("Shed", "s9")),"odd":\(pointer("_Secret", "a")),
             "all":[\(pointer("Shed", "s1")),7,\(pointer("Shed", "s2"))],
             "me":\(pointer("_User", "uSeR000001")),"you":\(pointer("_User", "uSeR000002")),
             "by":{"session":\(pointer("_Session", "sEsS000002"))},
             "on":\(pointer("_Installation", "iNsT000001")),
             "for":\(pointer("_Role", "rOlE000001")),"n":1}
            """)
        return writes
    }

    private func reading(
        _ console: RunningConsole, _ query: String, token: String = StubFrontend.token
    ) async throws -> [String: JSONValue] {
        let reply = try await console.send(
            .GET, "/parse/classes/Reading/\(StoredWrites.id(3))?\(query)", token: token)
        return try #require(reply.json?.members, "\(reply.text)")
    }

    private func type(_ value: JSONValue?) -> JSONValue? { value?.asObject?["__type"] }

    @Test("of user puts the user into each session", arguments: [
        "sessions", "sessions/sEsS000001", "sessions/me", "classes/_Session",
    ])
    func user(path: String) async throws {
        try await RunningConsole.with { console in
            for (query, expected) in [
                ("?include=user", Self.alice), ("", JSONValue.pointer("_User", "uSeR000001")),
            ] {
                let reply = try await console.send(.GET, "/parse/\(path)\(query)")
                let found = reply.results?.compactMap(\.asObject) ?? [reply.json?.members ?? [:]]
                #expect(!found.isEmpty)
                #expect(found.allSatisfy { $0["user"] == expected }, "\(reply.text)")
            }
        }
    }

    @Test("is implied by keys within the pointer, which choose the members")
    func keys() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(
                .GET, "/parse/sessions/sEsS000001?keys=user.username,createdWith.action")
            let members = try #require(reply.json?.members)
            #expect(members.keys.sorted() == [
                "createdAt", "createdWith", "objectId", "updatedAt", "user",
            ])
            #expect(members["createdWith"] == .object(["action": .string("create")]))
            #expect(members["user"]?.asObject?.keys.sorted() == [
                "__type", "className", "createdAt", "objectId", "updatedAt", "username",
            ])
        }
    }

    @Test("finds what the caller may read by its own route, and leaves other pointers")
    func rights() async throws {
        let writes = try await stored()
        let names = "shed,bobs,gone,odd,me,you,by.session.user,on,for"
        try await RunningConsole.with(data: writes.store) { console in
            for token in [StubFrontend.token, StubFrontend.restrictedToken] {
                let isFull = token == StubFrontend.token
                let found = try await reading(console, "include=\(names)", token: token)
                #expect(found["shed"]?.asObject?["name"] == .string("north"))
                #expect(found["shed"]?.asObject?["objectId"] == .string("s1"))
                #expect(found["me"] == Self.alice)
                for name in ["bobs", "gone", "odd"] {
                    #expect(type(found[name]) == .string("Pointer"), "\(name)")
                }
                #expect(type(found["you"]) == .string(isFull ? "Object" : "Pointer"))
                let session = found["by"]?.asObject?["session"]?.asObject
                #expect(session?["restricted"] == .bool(true))
                #expect(session?["user"] == Self.alice && session?["sessionToken"] == nil)
                let on = found["on"]?.asObject
                #expect(on?["installationId"] == .string(StubFrontend.iid))
                #expect(found["for"]?.asObject?["name"] == .string("Gardeners"))
                #expect(found["n"] == .integer(1))
            }
        }
        try await writes.close()
    }

    @Test("shows no session where the class permission find is false")
    func permission() async throws {
        let writes = try await stored()
        var rules = RunningConsole.open
        rules.sessionPermissions.set(.find, false)
        try await RunningConsole.with(rules, data: writes.store) { console in
            let found = try await reading(console, "include=by.session")
            let session = found["by"]?.asObject?["session"]
            #expect(session == .pointer("_Session", "sEsS000002"))
            #expect(await console.frontend.calls.isEmpty)
        }
        try await writes.close()
    }

    @Test("goes through arrays and through objects that were included")
    func deep() async throws {
        let writes = try await stored()
        try await RunningConsole.with(data: writes.store) { console in
            let found = try await reading(console, "include=all.next.next&keys=all")
            let sheds = try #require(found["all"]?.asArray)
            #expect(sheds.count == 3 && sheds[1] == .integer(7) && found["shed"] == nil)
            let next = sheds[0].asObject?["next"]?.asObject
            #expect(next?["name"] == .string("south"))
            let last = next?["next"]?.asObject
            #expect(last?["name"] == .string("north"))
            #expect(last?["next"] == .pointer("Shed", "s2"))
        }
        try await writes.close()
    }

    @Test("takes every pointer by *, and the array that the Swift SDK sends", arguments: [
        "include=*", "include=%5B%22*%22%5D", "include=%5B%22shed%22,%22all%22%5D",
    ])
    func all(query: String) async throws {
        let writes = try await stored()
        try await RunningConsole.with(data: writes.store) { console in
            let found = try await reading(console, query)
            #expect(type(found["shed"]) == .string("Object"))
            #expect(type(found["all"]?.asArray?.first) == .string("Object"))
            #expect(type(found["me"]) == .string(query.contains("*") ? "Object" : "Pointer"))
            #expect(type(found["by"]?.asObject?["session"]) == .string("Pointer"))
        }
        try await writes.close()
    }

    @Test("that no query may have is refused", arguments: [
        ("include=a.b.c.d.e", 102), ("include=sessionToken", 119), ("include=user.password", 119),
        ("include=_a", 105), ("include=%5B7%5D", 102), ("include=%5B", 105),
        ("include=a.*", 105), ("include=a%20b", 105), ("keys=a.b.c.d.e.f", 102),
        ("include=\((0..<33).map { "k\($0)" }.joined(separator: ","))", 102),
    ] as [(String, Int64)])
    func refused(query: String, code: Int64) async throws {
        let writes = try await stored()
        try await RunningConsole.with(data: writes.store) { console in
            for path in ["classes/Reading", "sessions", "sessions/me", "users", "users/me"] {
                let reply = try await console.send(.GET, "/parse/\(path)?\(query)")
                #expect((reply.status, reply.code) == (400, code), "\(path) \(reply.text)")
            }
        }
        try await writes.close()
    }

    @Test("reads at most 1,000 objects and adds at most 8 MiB")
    func bounds() async throws {
        let writes = try StoredWrites()
        let many = (0...1000).map { pointer("Shed", "s\($0)") }.joined(separator: ",")
        try await writes.write(1, #"{"all":[\#(many)]}"#, "Many/create")
        let text = String(repeating: "x", count: 60_000)
        try await writes.write(3, #"{"text":"\#(text)"}"#, "Big/update/b")
        let big = Array(repeating: pointer("Big", "b"), count: 150).joined(separator: ",")
        try await writes.write(4, #"{"all":[\#(big)]}"#, "Heavy/create")
        try await RunningConsole.with(data: writes.store) { console in
            for name in ["Many", "Heavy"] {
                let reply = try await console.send(
                    .GET, "/parse/classes/\(name)?include=all")
                #expect((reply.status, reply.code) == (400, 102), "\(name)")
                #expect(reply.text.contains("smaller limit"))
            }
        }
        try await writes.close()
        var included = IncludedObjects()
        let pointers = (1...1000).map { JSONValue.pointer("Shed", "s\($0)") }
        let list = JSONValue.object(["all": .array(pointers)])
        #expect(try included.new(in: [list], at: ["all"]).count == 1000)
        #expect(try included.new(in: [list], at: ["all"]).isEmpty)
        included.add(["s1": ["text": .string(text)]], of: "Shed")
        let one = JSONValue.array(Array(repeating: pointers[0], count: 130))
        #expect(try included.put(into: one, at: []).asArray?.count == 130)
        #expect(throws: AuthorityError.self) { try included.put(into: one, at: []) }
    }
}
