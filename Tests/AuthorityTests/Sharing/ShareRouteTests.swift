import AuthorityCore
import AuthorityData
import Foundation
import Gate
import Logging
import Sessions
import Testing
import Wire

@testable import AuthorityService

/// Everybody who may come to the routes of a board.
enum Visitor: CaseIterable {
    case owner, manager, viewer, classViewer, ended, removed, stranger
}

/// What a route answers.
enum RouteAnswer: Equatable {
    case done
    case refused(Int64)
    /// Refused for another reason than the right.
    case named(String)
}

/// One request to a route that names a board or its session, and who may make it.
struct BoardRequestCase {
    let method: String
    /// As `Provisioning/openapi.yaml` writes it.
    let path: String
    let query: String
    let body: String?
    let answers: [Visitor: RouteAnswer]

    /// `right`: who is answered; the others with a right get `refusal`, those without get 101.
    init(
        _ method: String, _ path: String, _ query: String = "", body: String? = nil,
        for right: Set<Visitor>, owner: RouteAnswer = .done, refusal: Int64 = 119
    ) {
        (self.method, self.path, self.query, self.body) = (method, path, query, body)
        var answers: [Visitor: RouteAnswer] = [:]
        for visitor in Visitor.allCases {
            let isNobody = [.ended, .removed, .stranger].contains(visitor)
            answers[visitor] = right.contains(visitor)
                ? (visitor == .owner ? owner : .done) : .refused(isNobody ? 101 : refusal)
        }
        self.answers = answers
    }

    private static let all: Set<Visitor> = [.owner, .manager, .viewer, .classViewer]
    private static let managers: Set<Visitor> = [.owner, .manager]
    private static let board = "/postern/v1/boards/{installationId}"
    private static let former = "/postern/v1/former-boards/{installationId}"
    private static let session = "/postern/v1/sessions/{objectId}"
    private static let parseSession = "/parse/sessions/{objectId}"
    private static let span = "&field=celsius&since=0&until=2000000000000"

    /// In this order, because the last ones end the session and the board.
    static let cases = [
        Self("GET", board, for: all),
        Self("GET", "\(board)/live", for: all),
        Self("GET", "\(board)/newest", for: all),
        Self("GET", "\(board)/series", "?class=Reading\(span)", for: all),
        Self("GET", "\(board)/series", "?class=Secret\(span)",
            for: all.subtracting([.classViewer])),
        Self("GET", "\(board)/records", for: all),
        Self("GET", "\(board)/records", "?class=Reading", for: all),
        Self("GET", "\(board)/records", "?class=Secret", for: all.subtracting([.classViewer])),
        Self("GET", "\(board)/timeline", for: managers),
        Self("POST", "\(board)/explain", body: #"{"app":"a","class":"Reading","op":"create"}"#,
            for: managers),
        Self("PUT", board, body: #"{"name":"shed"}"#, for: managers),
        Self("PUT", board, body: #"{"labels":["cellar"]}"#, for: [.owner]),
        Self("PUT", board, body: #"{"name":"hut","addLabels":["cellar"]}"#, for: [.owner]),
        Self("POST", "\(board)/renew", for: [.owner], owner: .named("not-renewable")),
        Self("POST", "\(board)/replace", body: #"{"by":"{installationId}"}"#, for: [.owner],
            owner: .refused(142)),
        Self("GET", "\(board)/configuration", for: [.owner], owner: .refused(101)),
        Self("GET", "\(board)/commands", for: [.owner]),
        Self("POST", "\(board)/commands", body: #"{"app":"a","command":{}}"#, for: [.owner]),
        Self("GET", "\(board)/commands/{commandId}", for: [.owner], owner: .refused(101)),
        Self("DELETE", "\(board)/revocation", for: [.owner]),
        Self("GET", "\(board)/shares", for: [.owner]),
        Self("POST", "\(board)/invitations", body: #"{"right":"see"}"#, for: [.owner]),
        Self("DELETE", "\(board)/invitations/{invitationId}", for: [.owner],
            owner: .refused(101)),
        // Nobody ends a share that does not exist.
        Self("DELETE", "\(board)/shares/{shareId}", for: [], refusal: 101),
        Self("GET", former, for: [], refusal: 101),
        Self("DELETE", former, for: [.owner], owner: .refused(119), refusal: 101),
        Self("GET", session, for: managers, refusal: 101),
        Self("PUT", session, body: #"{"name":"mine"}"#, for: [.owner], refusal: 101),
        Self("GET", parseSession, for: managers, refusal: 101),
        Self("PUT", parseSession, body: #"{"x":1}"#, for: [.owner], refusal: 101),
        Self("POST", "\(session)/extend",
            body: #"{"durationSeconds":86400,"shorten":true}"#, for: managers,
            refusal: 101),
        Self("PUT", "\(session)/scope", body: #"{"default":"deny"}"#, for: managers, refusal: 101),
        Self("GET", "/postern/v1/alerts", "?board={installationId}", for: [.owner]),
        Self("DELETE", session, for: managers, refusal: 101),
        Self("DELETE", parseSession, for: [], refusal: 101),
        Self("DELETE", board, for: [.owner]),
    ]

    /// They answer everybody, and with the caller's own former data alone.
    static let ofFormerData = ["GET \(former)/newest", "GET \(former)/series"]

    /// The routes of `Provisioning/openapi.yaml` that name a board or a session in their path.
    static func described() throws -> [String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Provisioning/openapi.yaml")
        var (path, found) = ("", [String]())
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("  /"), line.hasSuffix(":") {
                path = String(line.dropFirst(2).dropLast())
            } else if let method = line.wholeMatch(of: #/ {4}(get|put|post|delete|patch):/#)?.1 {
                let isNamed = path.contains("{installationId}") || path.contains("/sessions/{")
                if isNamed { found.append("\(method.uppercased()) \(path)") }
            }
        }
        return found
    }
}

@Suite("The routes of a shared board")
struct ShareRouteTests {
    @Test("are in the table of rights, each of them")
    func coverage() throws {
        let known = Set(BoardRequestCase.cases.map { "\($0.method) \($0.path)" }
            + BoardRequestCase.ofFormerData)
        #expect(try BoardRequestCase.described().filter { !known.contains($0) } == [])
    }

    @Test("answer each visitor by the right", arguments: Visitor.allCases)
    func rights(visitor: Visitor) async throws {
        try await SharedRoutes.with(visitor) { routes in
            for request in BoardRequestCase.cases {
                let reply = try await routes.send(request)
                let answer: RouteAnswer = switch (reply.code, reply.members["name"]) {
                case (nil, _): .done
                case (_?, .string(let name)?): .named(name)
                case (let code?, _): .refused(code)
                }
                #expect(
                    answer == request.answers[visitor],
                    "\(visitor): \(request.method) \(request.path)\(request.query): \(reply.text)")
            }
        }
    }

    @Test("show the state to all, and rules and ids to those who manage it")
    func forms() async throws {
        for visitor in [Visitor.owner, .manager, .viewer] {
            try await SharedRoutes.with(visitor) { routes in
                let board = try await routes.get("/postern/v1/boards/\(routes.shared.id)")
                let mayManage = visitor != .viewer
                #expect(board.members["sessionState"] == .string("active"))
                #expect((board.members["sessionId"] != .null) == mayManage)
                #expect((board.members["scope"] != .null) == mayManage)
                #expect((board.members["shared"] == .null) == (visitor == .owner))
                let labels: [JSONValue] = visitor == .owner ? [.string("mine")] : []
                #expect(board.members["labels"] == .array(labels))
                let page = try await routes.get("/postern/v1/boards?live=true")
                #expect(page.results.count == 1)
                #expect((page.members["labels"] == .array([])) == (visitor != .owner))
                let some = try await routes.get("/postern/v1/boards?label=mine")
                #expect(some.results.count == (visitor == .owner ? 1 : 0))
                #expect(!board.text.contains("r:"))
            }
        }
    }

    @Test("show the readings of the shared classes, to Parse clients too")
    func readings() async throws {
        for visitor in Visitor.allCases {
            try await SharedRoutes.with(visitor) { routes in
                let mayAll = [.owner, .manager, .viewer].contains(visitor)
                let maySome = mayAll || visitor == .classViewer
                func count(_ name: String) async throws -> Int {
                    let list = try await routes.get("/parse/classes/\(name)?count=1&limit=9")
                    #expect(list.members["count"]?.asInteger == Int64(list.results.count))
                    return list.results.count
                }
                #expect(try await count("Reading") == (maySome ? 2 : 0), "\(visitor)")
                #expect(try await count("Secret") == (mayAll ? 1 : 0), "\(visitor)")
                let one = try await routes.get("/parse/classes/Secret/\(routes.secret)")
                #expect((one.code == 101) != mayAll)
                // An object that another board of the owner wrote, too, is the owner's alone.
                let mixed = try await routes.get("/parse/classes/State/door")
                #expect((mixed.code == 101) != (visitor == .owner))
                let records = try await routes.get(
                    "/postern/v1/boards/\(routes.shared.id)/records")
                let classes = records.results.compactMap { $0["class"]?.asString }
                #expect(classes.contains("Reading") == maySome)
                #expect(classes.contains("Secret") == mayAll)
                let newest = try await routes.get("/postern/v1/boards/\(routes.shared.id)/newest")
                #expect(newest.text.contains("Secret") == mayAll, "\(visitor)")
                let page = try await routes.get("/postern/v1/boards?live=true")
                #expect(page.text.contains("Secret") == mayAll, "\(visitor)")
            }
        }
    }
}

/// The routes of a house with data, as one visitor of its board sees them.
private struct SharedRoutes {
    let shared: SharedHouse
    let http: HTTPHouse
    let token: String
    /// The object of the class `Secret`.
    let secret: RecordID

    static func with(
        _ visitor: Visitor, _ body: @Sendable (Self) async throws -> Void
    ) async throws {
        let shared = try await SharedHouse()
        let label = try #require(BoardLabel("mine"))
        _ = try await shared.house.authority.change(
            shared.id, BoardChange(labels: .set([label])), by: shared.bob)
        let scope = ScopeDocument(unchecked: .object(["default": .string("allow")]))
        _ = try await shared.house.authority.setScope(
            scope, of: shared.live.session, by: shared.bob)
        try await give(shared, to: visitor)
        let folder = try TemporaryFolder()
        let data = try SQLiteDataStore(path: "\(folder.path)/data.db")
        let secret = try await fill(data, shared)
        let hub = try await RunningHub(shared.house)
        let name = visitor == .owner ? "bob" : "carl"
        let opened = try await shared.house.authority.login(LoginAttempt(
            username: name, password: shared.house.password, origin: "test"))
        try await HTTPHouse.with(shared.house, live: hub.hub, data: data) { http in
            try await body(Self(
                shared: shared, http: http, token: opened.token.reveal(), secret: secret))
        }
        await hub.stop()
        try data.close()
    }

    private static func give(_ shared: SharedHouse, to visitor: Visitor) async throws {
        switch visitor {
        case .owner, .stranger: break
        case .manager: try await shared.share(ShareTerms(right: .manage))
        case .viewer: try await shared.share(ShareTerms(right: .see))
        case .classViewer:
            let classes = [ClassName("Reading")!, ClassName("State")!]
            try await shared.share(ShareTerms(right: .see, classes: classes))
        case .ended:
            let until = shared.house.clock.now + .seconds(60)
            try await shared.share(ShareTerms(right: .manage, until: until))
            shared.house.clock.advance(.seconds(60))
        case .removed:
            try await shared.share(ShareTerms(right: .manage))
            try await shared.endShares()
        }
    }

    private static func fill(
        _ data: SQLiteDataStore, _ shared: SharedHouse
    ) async throws -> RecordID {
        let other = try BoardDouble().installation
        let owner = shared.bob.user.objectID
        let now = shared.house.clock.now
        func record(
            _ sequence: Int64, _ name: String, _ object: String? = nil, of board: InstallationID
        ) throws -> OwnedRecord {
            let path = try #require(RecordPath(
                className: ClassName(name)!, operation: object == nil ? .create : .update,
                record: object.flatMap { RecordID($0) }))
            return OwnedRecord(owner: owner, record: DataRecord(
                board: board, sequence: sequence, path: path, app: AppName("a")!,
                writtenAt: now + .milliseconds(sequence), receivedAt: now,
                payload: Array(#"{"celsius":\#(sequence),"\#(name)":1}"#.utf8)),
                since: Timestamp(milliseconds: 0))
        }
        _ = try await data.keep([
            record(1, "Reading", of: shared.id), record(2, "Reading", of: shared.id),
            record(3, "Secret", of: shared.id),
            record(4, "State", "door", of: other), record(5, "State", "door", of: shared.id),
        ])
        return try #require(RecordID(created: shared.id, sequence: 3))
    }

    func get(_ path: String) async throws -> HTTPHouse.Reply {
        try await Way.direct.send(http, "GET", path, token: token)
    }

    func send(_ request: BoardRequestCase) async throws -> HTTPHouse.Reply {
        func filled(_ text: String) -> String {
            text.replacing("{installationId}", with: "\(shared.id)")
                .replacing("{objectId}", with: "\(shared.live.session)")
                .replacing("{shareId}", with: "AAAAAAAAAA")
                .replacing("{commandId}", with: "11111111-2222-4333-8444-555555555555")
                .replacing("{invitationId}", with: "AAAAAAAAAA")
        }
        let body = try request.body.map {
            try JSONValue(parsing: Array(filled($0).utf8), limit: 4096)
        }
        return try await Way.direct.send(
            http, request.method, filled(request.path + request.query), body?.asObject,
            token: token)
    }
}
