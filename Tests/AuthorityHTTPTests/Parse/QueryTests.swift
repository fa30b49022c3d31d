import AuthorityCore
import NIOHTTP1
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

@Suite("A query")
struct QueryTests {
    private static let object: [String: JSONValue] = [
        "objectId": .string("a"), "n": .integer(5), "f": .number(2.5), "s": .string("porch lamp"),
        "createdAt": .string("2023-11-14T22:13:20.000Z"), "no": .null, "yes": .bool(true),
        "expiresAt": .object([
            "__type": .string("Date"), "iso": .string("2024-01-01T00:00:00.000Z"),
        ]),
        "user": .pointer("_User", "u1"), "list": .array([.integer(1), .string("x")]),
        "createdWith": .object(["action": .string("login")]),
    ]

    @Test("finds what fits its where", arguments: [
        (#"{}"#, true), (#"{"n":5}"#, true), (#"{"n":5.0}"#, true), (#"{"n":"5"}"#, false),
        (#"{"n":{"$gt":4,"$lt":6}}"#, true), (#"{"n":{"$gte":6}}"#, false),
        (#"{"f":{"$lte":2.5}}"#, true), (#"{"s":{"$gt":"p"}}"#, true),
        (#"{"n":{"$gt":"4"}}"#, false),
        (#"{"no":null}"#, true), (#"{"gone":null}"#, true), (#"{"gone":{"$exists":false}}"#, true),
        (#"{"n":{"$exists":true}}"#, true), (#"{"n":{"$ne":5}}"#, false),
        (#"{"gone":{"$ne":5}}"#, true), (#"{"n":{"$in":[1,5]}}"#, true),
        (#"{"n":{"$nin":[1,5]}}"#, false), (#"{"list":1}"#, true), (#"{"list":2}"#, false),
        (#"{"list":{"$all":[1,"x"]}}"#, true), (#"{"list":{"$all":[1,2]}}"#, false),
        (#"{"createdWith.action":"login"}"#, true),
        (#"{"createdWith.action.more":"login"}"#, false),
        (#"{"user":{"__type":"Pointer","className":"_User","objectId":"u1"}}"#, true),
        (#"{"user":{"__type":"Pointer","className":"_User","objectId":"u2"}}"#, false),
        (#"{"createdAt":{"$gt":{"__type":"Date","iso":"2023-01-01T00:00:00.000Z"}}}"#, true),
        (#"{"createdAt":{"__type":"Date","iso":"2023-11-14T22:13:20.000Z"}}"#, true),
        (#"{"expiresAt":{"$lt":{"__type":"Date","iso":"2023-12-31T00:00:00.000Z"}}}"#, false),
        (#"{"s":{"$regex":"^\\Qporch\\E"}}"#, true), (#"{"s":{"$regex":"\\Qlamp\\E$"}}"#, true),
        (#"{"s":{"$regex":"LAMP","$options":"i"}}"#, true), (#"{"s":{"$regex":"^lamp"}}"#, false),
        (#"{"n":{"$regex":"5"}}"#, false), (#"{"$or":[{"n":1},{"yes":true}]}"#, true),
        (#"{"$and":[{"n":5},{"yes":false}]}"#, false), (#"{"$nor":[{"n":1}]}"#, true),
        (#"{"n":{"$not":{"$gt":4}}}"#, false), (#"{"n":5,"$or":[{"s":"x"},{"list":"x"}]}"#, true),
    ])
    func fits(text: String, expected: Bool) throws {
        let clause = try WhereClause(.string(text))
        #expect(clause.fits(Self.object) == expected)
        #expect(try WhereClause(JSONValue(parsing: Array(text.utf8))).fits(Self.object) == expected)
    }

    @Test("is refused where it asks what no query may, or too much", arguments: [
        ("", 107), ("[]", 102), ("7", 102), (#"{"sessionToken":"r:x"}"#, 119),
        (#"{"sessionToken":{"$regex":"^r:"}}"#, 119), (#"{"$or":[{"sessionToken":"r:x"}]}"#, 119),
        (#"{"$nor":[{"a":1},{"sessionToken":{"$exists":true}}]}"#, 119),
        (#"{"user.sessionToken":"r:x"}"#, 119), (#"{"accessToken":1}"#, 119),
        (#"{"password":"x"}"#, 119), (#"{"_hashed_password":"x"}"#, 105),
        (#"{"_session_token":"x"}"#, 105), (#"{"a b":1}"#, 105), (#"{"":1}"#, 105),
        (#"{"$where":"1"}"#, 105), (#"{"a":{"$select":{}}}"#, 102),
        (#"{"user":{"$inQuery":{"className":"_User","where":{}}}}"#, 102),
        (#"{"a":{"$notInQuery":{}}}"#, 102), (#"{"a":{"$regex":"(a+)+$"}}"#, 102),
        (#"{"a":{"$regex":"."}}"#, 102), (#"{"a":{"$regex":"a","$options":"x"}}"#, 102),
        (#"{"a":{"$regex":7}}"#, 102), (#"{"a":{"$in":1}}"#, 102), (#"{"$or":[]}"#, 102),
        (#"{"$or":{}}"#, 102), (#"{"$or":[7]}"#, 102), (#"{"a":{"$exists":1}}"#, 102),
        (#"{"$relatedTo":{"object":{"className":"_User","objectId":"x"},"key":"y"}}"#, 102),
        (#"{"$relatedTo":7}"#, 102),
        (nested(7), 102), (#"{"a":{"$in":[\#(many(201))]}}"#, 102),
        (#"{"a":"\#(String(repeating: "x", count: 4096))"}"#, 116),
    ])
    func refused(text: String, code: Int) throws {
        let error = #expect(throws: AuthorityError.self) { try WhereClause(.string(text)) }
        guard case .refused(let refusal) = error else { return }
        #expect(refusal.code == code, "\(refusal)")
    }

    private static func nested(_ depth: Int) -> String {
        depth == 0 ? #"{"a":1}"# : #"{"$or":[\#(nested(depth - 1))]}"#
    }

    private static func many(_ count: Int) -> String {
        (0..<count).map(String.init).joined(separator: ",")
    }

    @Test("chooses, sorts, pages, counts and shows as it is asked", arguments: [
        ("limit=1", ["sEsS000001"]), ("skip=1", ["sEsS000002"]), ("limit=0", []),
        ("order=restricted", ["sEsS000001", "sEsS000002"]),
        ("order=-restricted", ["sEsS000002", "sEsS000001"]),
        ("order=%5B%22-restricted%22%5D", ["sEsS000002", "sEsS000001"]),
        ("order=-installationId,objectId", ["sEsS000002", "sEsS000001"]),
        ("where=%7B%22restricted%22%3Atrue%7D", ["sEsS000002"]),
        ("where=%7B%22createdWith.action%22%3A%22login%22%7D&include=user", ["sEsS000001"]),
        ("where=%7B%22label%22%3A%22porch%22%7D", ["sEsS000001", "sEsS000002"]),
        ("where=%7B%22label%22:+%22porch%22%7D", ["sEsS000001", "sEsS000002"]),
    ])
    func page(query: String, found: [String]) async throws {
        try await RunningConsole.with { console in
            for path in ["/parse/sessions", "/parse/classes/_Session"] {
                let reply = try await console.send(.GET, "\(path)?\(query)&count=1&keys=label")
                let results = try #require(reply.results).map { $0.asObject ?? [:] }
                #expect(results.map { $0["objectId"] } == found.map(JSONValue.string))
                let shown = ["createdAt", "label", "objectId", "updatedAt"]
                #expect(results.allSatisfy { $0.keys.sorted() == shown })
                let fitting = query.contains("Atrue") || query.contains("action") ? 1 : 2
                #expect(reply.json?.members["count"] == .integer(Int64(fitting)))
            }
        }
    }

    @Test("with a parameter that is none is 102", arguments: [
        "limit=-1", "limit=x", "limit=", "skip=1e3", "count=yes", "wear=%7B%7D",
        "redirectClassNameForKey=user", "where=%5B%5D",
        "keys=\((0..<40).map { "k\($0)" }.joined(separator: ","))",
    ])
    func parameter(query: String) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.GET, "/parse/sessions?\(query)")
            #expect(reply.status == 400)
            #expect(reply.code == 102)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("shows nobody a token, whatever it asks for", arguments: [
        "keys=sessionToken", "keys=sessionToken,accessToken", "order=sessionToken",
        "where=%7B%22sessionToken%22%3A%7B%22%24exists%22%3Atrue%7D%7D&count=1",
        "include=sessionToken", "excludeKeys=objectId",
    ])
    func token(query: String) async throws {
        try await RunningConsole.with { console in
            for token in [StubFrontend.token, StubFrontend.restrictedToken] {
                let reply = try await console.send(.GET, "/parse/sessions?\(query)", token: token)
                #expect(!reply.text.contains("r:"))
                #expect(reply.status == 200 || reply.code == 119)
            }
        }
    }
}
