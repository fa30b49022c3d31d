import AuthorityCore
import AuthorityHTTP
import HTTPClient
import Logging
import Sessions
import Wire

/// A house's HTTP on a free port, while `body` runs.
struct HTTPHouse: Sendable {
    let house: House
    let port: Int

    static let masterKey = "a master key of some length"

    struct Reply: Sendable {
        let status: Int
        let value: JSONValue

        var members: [String: JSONValue] { value.asObject ?? [:] }
        var code: Int64? { members["code"]?.asInteger }
        var results: [[String: JSONValue]] {
            members["results"]?.asArray?.compactMap(\.asObject) ?? []
        }
        var text: String { value.text }
    }

    static func with(
        _ house: House, live: (any LiveFeed)? = nil, data: (any DataStore)? = nil,
        _ body: @Sendable (HTTPHouse) async throws -> Void
    ) async throws {
        var rules = ParseRules()
        rules.masterKey = SecretBytes(masterKey)
        for action in ClassPermissions.Action.allCases {
            rules.sessionPermissions.set(action, true)
        }
        let (ports, found) = AsyncStream.makeStream(of: Int.self)
        let server = ConsoleServer(
            frontend: house.authority, listen: (host: "127.0.0.1", port: 0),
            logger: Logger(label: "house", factory: { _ in SwiftLogNoOpLogHandler() }),
            rules: rules, live: live, data: data, onListening: { found.yield($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            var iterator = ports.makeAsyncIterator()
            guard let port = await iterator.next() else { throw NotThat() }
            try await body(HTTPHouse(house: house, port: port))
            group.cancelAll()
        }
    }

    /// Bytes as they are, with these headers.
    func send(
        _ method: String, _ path: String, _ body: String?, _ headers: [String: String]
    ) async throws -> Reply {
        let answer = try await HTTPRequest(
            method, "http://127.0.0.1:\(port)\(path)",
            headers: headers.map { ($0.key, $0.value) }, body: body.map { Array($0.utf8) }
        ).answer()
        return Reply(
            status: answer.status, value: try JSONValue(parsing: answer.body, limit: 1 << 20))
    }
}

/// How a request comes to its route.
enum Way: String, CaseIterable, Sendable {
    case direct, override, bodyForm, batch, batchInBody

    /// Sends it; of a batch the one result, in the form that it has alone.
    func send(
        _ http: HTTPHouse, _ method: String, _ path: String, _ body: [String: JSONValue]? = nil,
        token: String?
    ) async throws -> HTTPHouse.Reply {
        let application = ["X-Parse-Application-Id": "postern"]
        let headers = application.merging(token.map { ["X-Parse-Session-Token": $0] } ?? [:]) { $1 }
        var form: [String: JSONValue] = ["_ApplicationId": .string("postern")]
        form["_SessionToken"] = token.map(JSONValue.string)
        let asBatch = JSONValue.array([
            .object([
                "method": .string(method), "path": .string(path),
                "body": body.map(JSONValue.object) ?? .null,
            ])
        ])
        switch self {
        case .direct:
            return try await http.send(
                method, path, body.map { JSONValue.object($0).text }, headers)
        case .override:
            let members = (body ?? [:]).merging(["_method": .string(method)]) { $1 }
            return try await http.send("POST", path, JSONValue.object(members).text, headers)
        case .bodyForm:
            form["_method"] = .string(method)
            form.merge(body ?? [:]) { $1 }
            return try await http.send("POST", path, JSONValue.object(form).text, [:])
        case .batch:
            let sent = JSONValue.object(["requests": asBatch]).text
            return Self.only(try await http.send("POST", "/parse/batch", sent, headers))
        case .batchInBody:
            form["requests"] = asBatch
            return Self.only(
                try await http.send("POST", "/parse/batch", JSONValue.object(form).text, [:]))
        }
    }

    private static func only(_ reply: HTTPHouse.Reply) -> HTTPHouse.Reply {
        guard let result = reply.value.asArray?.first?.asObject else { return reply }
        if let value = result["success"] { return HTTPHouse.Reply(status: 200, value: value) }
        return HTTPHouse.Reply(status: 400, value: result["error"] ?? .null)
    }
}
