import NIOHTTP1
import Sessions
import Testing
import Wire

@testable import AuthorityCore
@testable import AuthorityHTTP

@Suite("Explain route")
struct ExplainRouteTests {
    private static let path = "/postern/v1/boards/\(StubFrontend.iid)/explain"

    @Test("asks about a write and tells each layer's word")
    func form() async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, Self.path, #"""
                {"app":"thermo","op":"update","class":"Reading","objectId":"r1","payload":"{}"}
                """#)
            #expect(reply.status == 200)
            #expect(await console.frontend.calls == ["explain thermo update Reading r1, 2 bytes"])
            let json = try #require(reply.json)
            #expect(JSONValue.object(json.members) == .object([
                "decision": .string("deny"), "rule": .string("policy.toml:10"),
                "reason": .string("only create is allowed"), "code": .integer(119),
                "field": .null, "complete": .bool(true),
                "by": .array([
                    .object([
                        "layer": .string("builtin"), "decision": .string("allow"),
                        "rule": .string("builtin:allowed"), "reason": .string("nothing"),
                    ]),
                    .object([
                        "layer": .string("scope"), "decision": .null, "rule": .null,
                        "reason": .string("no scope"),
                    ]),
                    .object([
                        "layer": .string("policy"), "decision": .string("deny"),
                        "rule": .string("policy.toml:10"),
                        "reason": .string("only create is allowed"),
                    ]),
                ]),
            ]))
        }
    }

    @Test("takes a payload of 64 KiB, however it is escaped, and no longer one")
    func payload() async throws {
        try await RunningConsole.with { console in
            for (count, status) in [(64 * 1024, 200), (64 * 1024 + 1, 400)] as [(Int, Int)] {
                let payload = String(repeating: #"\u0001"#, count: count)
                let reply = try await console.send(
                    .POST, Self.path,
                    #"{"app":"a","op":"create","class":"A","payload":"\#(payload)"}"#)
                #expect(reply.status == status)
            }
            #expect(await console.frontend.calls == ["explain a create A, 65536 bytes"])
        }
    }

    @Test("refuses what no topic could have, by the bus's numbers", arguments: [
        (#"{"op":"create","class":"A"}"#, 142), (#"{"app":1,"op":"create","class":"A"}"#, 111),
        (#"{"app":"A!","op":"create","class":"A"}"#, 105),
        (#"{"app":"a","op":"read","class":"A"}"#, 142),
        (#"{"app":"a","op":"create","class":"A/B"}"#, 103),
        (#"{"app":"a","op":"update","class":"A","objectId":"a/b"}"#, 105),
        (#"{"app":"a","op":"create","class":"A","objectId":"x"}"#, 142),
        (#"{"app":"a","op":"create","class":"A","payload":{}}"#, 111), ("[]", 107),
    ])
    func refused(body: String, code: Int64) async throws {
        try await RunningConsole.with { console in
            let reply = try await console.send(.POST, Self.path, body)
            #expect(reply.status == 400)
            #expect(try reply.json?.integer("code") == code)
            #expect(await console.frontend.calls.isEmpty)
        }
    }

    @Test("is for people with a session")
    func noSession() async throws {
        try await RunningConsole.with { console in
            let body = #"{"app":"a","op":"create","class":"A"}"#
            let reply = try await console.send(.POST, Self.path, body, token: nil)
            #expect(try reply.json?.integer("code") == 209)
        }
    }

    @Test("has a board's rules and refusals in a form of their own")
    func rules() throws {
        let policy = try JSONValue(parsing: Array(#"{"default":"allow","rules":[]}"#.utf8))
        let scope = try JSONValue(parsing: Array(#"{"default":"deny"}"#.utf8))
        let count = RefusalCount(app: "mad", rule: "scope:1", count: 2)
        let report = BoardReport(
            queue: .init(messages: 1, bytes: 9, oldest: Timestamp(milliseconds: 5000)),
            refused: 2, refusals: [count], rules: .file(try PolicyDocument(json: policy)))
        #expect(try board(report, scope).rulesForm == [
            "scope": scope, "policy": policy, "policyKnown": .bool(true),
            "policyOmitted": .bool(false), "refusals": .array([count.json]),
            "queueBytes": .integer(9), "queueOldest": .integer(5), "reportedAt": .integer(7),
            "identityShared": .bool(false), "units": .object([:]),
        ])
        #expect(try board(nil, nil).rulesForm == [
            "scope": .null, "policy": .null, "policyKnown": .bool(false),
            "policyOmitted": .bool(false), "refusals": .array([]), "queueBytes": .null,
            "queueOldest": .null, "reportedAt": .null,
            "identityShared": .bool(false), "units": .object([:]),
        ])
    }

    private func board(_ report: BoardReport?, _ scope: JSONValue?) throws -> Board {
        let user = UserView(
            objectID: try #require(UserID("uSeR000001")), username: "alice",
            isAdministrator: false, mayClaim: true, createdAt: Timestamp(milliseconds: 0))
        return Board(
            installation: try #require(InstallationID(StubFrontend.iid)), name: "greenhouse",
            owner: user, deviceKey: try #require(KeyID("a2V5LWlkLTE")), session: nil,
            lastSeen: nil, status: nil, scope: scope.map(ScopeDocument.init(unchecked:)),
            report: report, reportedAt: report.map { _ in Timestamp(milliseconds: 7000) })
    }
}
