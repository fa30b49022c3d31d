import Sessions
import Testing
import Wire

@Suite("What a session and a user show")
struct DisclosureTests {
    private static let token = "r:Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE"

    private func shown(_ custom: [String: JSONValue]) throws -> [String: JSONValue] {
        var user = try #require(Example.user.asObject)
        user.merge(custom) { $1 }
        let parsed = try UserProfile(json: JSONObject(user))
        #expect(parsed.json.asObject == UserProfile(
            objectID: parsed.objectID, username: parsed.username, custom: custom).json.asObject?
            .merging(["language": "en"]) { $1 })
        var session = try #require(Example.session.asObject)
        session.merge(custom) { $1 }
        let both = try Session(json: JSONObject(session)).custom
            .filter { custom.keys.contains($0.key) }
        #expect(both == parsed.custom.filter { custom.keys.contains($0.key) })
        return both
    }

    @Test("is nothing that names or looks like a token", arguments: [
        ["sessionToken": "x"], ["accessToken": "x"], ["refreshToken": "x"], ["password": "x"],
        ["authData": .object(["facebook": "x"])], ["_hashed_password": "x"], ["_x": 1],
        ["note": .string(token)], ["note": .string("rt:" + token.dropFirst(2))],
        ["note": "eyJhbGciOiJFZERTQSJ9XXXX.eyJzdWIiOiJhbm4ifQXXXXX.c2lnbmF0dXJl"],
        ["login": .object(["objectId": "a", "restricted": .bool(false)])],
        ["login": .object(["createdWith": .object([:]), "restricted": .bool(false)])],
        ["login": .object(["className": "_Session"])],
        ["login": .object(["className": "_Session", "restricted": .bool(false)])],
    ] as [[String: JSONValue]])
    func hidden(custom: [String: JSONValue]) throws {
        #expect(try shown(custom) == [:])
        let deep = try shown(["deep": .array([1, .object(["x": .array([.object(custom)])])])])
        #expect(deep == ["deep": .array([1, .object(["x": .array([.object([:])])])])])
    }

    @Test("is every other custom field, as it came", arguments: [
        ["room": "attic"], ["ratio": "r:1"], ["note": "r: see below, at length and in words"],
        ["zone": .object(["restricted": .bool(false)])], ["n": .array([1, .null, .bool(false)])],
        ["version": "1.2.3"], ["device": .object(["objectId": "a", "restricted": .bool(true)])],
    ] as [[String: JSONValue]])
    func kept(custom: [String: JSONValue]) throws {
        #expect(try shown(custom) == custom)
    }
}
