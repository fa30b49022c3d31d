import AuthorityCore
import AuthorityHTTP
import NIOHTTP1
import Sessions
import Synchronization
import Testing
import Wire

@Suite("Requests refused for who asks")
struct RefusedRequestTests {
    private final class Notes: Sendable {
        private let kept = Mutex<[RefusedRequest]>([])
        var all: [RefusedRequest] { kept.withLock { $0 } }
        func note(_ request: RefusedRequest) { kept.withLock { $0.append(request) } }
    }

    private struct Wrong: Sendable {
        let reason: RefusalReason
        var headers: [String: String] = [:]
        var token: String? = StubFrontend.token
        var path = "/parse/sessions"
        var className = "_Session"
    }

    private static let strange = "r:DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDA"

    private static let wrongs = [
        Wrong(reason: .masterKey, headers: ["X-Parse-Master-Key": "wrong"]),
        Wrong(reason: .clientKey, headers: ["X-Parse-REST-API-Key": "wrong"], token: nil),
        Wrong(reason: .malformedToken, headers: key, token: "short"),
        Wrong(reason: .unknownToken, headers: key, token: strange, path: "/parse/roles",
            className: "_Role"),
        Wrong(reason: .unknownToken, token: strange, path: "/postern/v1/boards"),
    ]

    private static let key = ["X-Parse-REST-API-Key": "the key"]

    private static var rules: ParseRules {
        var rules = RunningConsole.open
        rules.masterKey = SecretBytes(Array("a master key of some length".utf8))
        rules.restAPIKey = SecretBytes(Array("the key".utf8))
        return rules
    }

    @Test("are told by their reason, class, operation and address, without key or token",
        arguments: 0..<wrongs.count)
    func reasons(number: Int) async throws {
        let wrong = Self.wrongs[number]
        let notes = Notes()
        try await RunningConsole.with(Self.rules, onRefusal: { notes.note($0) }) { console in
            let reply = try await console.send(
                .GET, wrong.path, token: wrong.token, headers: wrong.headers)
            #expect(reply.status >= 400)
        }
        #expect(notes.all == [RefusedRequest(
            wrong.reason, subject: "nobody", className: wrong.className,
            operation: "GET \(wrong.path)", origin: "127.0.0.1")])
    }

    @Test("are told with the user where it is 119, also in a batch")
    func forbidden() async throws {
        let notes = Notes()
        let batch = #"{"requests":[{"method":"GET","path":"/parse/roles"}]}"#
        try await RunningConsole.with(onRefusal: { notes.note($0) }) { console in
            #expect(try await console.send(.GET, "/parse/sessions").status == 200)
            #expect(notes.all.isEmpty)
            await console.frontend.fail(with: .refused(Refusal(.forbidden, "no")))
            _ = try await console.send(.GET, "/parse/sessions")
            _ = try await console.send(
                .POST, "/postern/v1/claims", #"{"url":"\#(RouteTests.claimURL)"}"#)
            _ = try await console.send(.POST, "/parse/batch", batch)
            await console.frontend.fail(with: .refused(Refusal(.notFound, "none")))
            _ = try await console.send(.GET, "/parse/sessions")
        }
        #expect(notes.all.map(\.operation) == [
            "GET /parse/sessions", "POST /postern/v1/claims", "GET /parse/roles",
        ])
        #expect(notes.all.map(\.className) == ["_Session", "_Session", "_Role"])
        #expect(notes.all.allSatisfy { $0.reason == .forbidden && $0.subject == "user uSeR000001" })
    }
}
