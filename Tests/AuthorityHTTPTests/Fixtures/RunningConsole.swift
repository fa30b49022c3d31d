import AuthorityCore
import HTTPClient
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Sessions
import Testing
import Wire

@testable import AuthorityHTTP

/// A console over the stub on a free port of loopback, while `body` runs.
struct RunningConsole: Sendable {
    let frontend: StubFrontend
    let port: Int

    struct Reply: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let text: String

        var json: JSONObject? { try? JSONObject(parsing: Array(text.utf8)) }
        var code: Int64? { json?.members["code"]?.asInteger }
        var results: [JSONValue]? { json?.members["results"]?.asArray }
    }

    /// All that Parse's routes can do with `_Session`.
    static var open: ParseRules {
        var rules = ParseRules()
        for action in ClassPermissions.Action.allCases {
            rules.sessionPermissions.set(action, true)
        }
        return rules
    }

    static func with(
        _ rules: ParseRules = open, live: (any LiveFeed)? = nil,
        data: (any DataStore)? = nil, askingBroker: AskingBroker? = nil, proxies: [String] = [],
        load: RequestThrottle = RequestThrottle(),
        connections: ConnectionLimits = ConnectionLimits(),
        files: StaticFiles = .none, alertTest: (any AlertTest)? = nil,
        onRefusal: @escaping @Sendable (RefusedRequest) -> Void = { _ in },
        logger: Logger = Logger(label: "console", factory: { _ in SwiftLogNoOpLogHandler() }),
        _ body: @Sendable (RunningConsole) async throws -> Void
    ) async throws {
        let frontend = StubFrontend()
        let (ports, found) = AsyncStream.makeStream(of: Int.self)
        var made = ConsoleServer(
            frontend: frontend, listen: (host: "127.0.0.1", port: 0),
            logger: logger, rules: rules, files: files, live: live, data: data,
            askingBroker: askingBroker, proxies: proxies, alertTest: alertTest,
            onRefusal: onRefusal,
            onListening: { found.yield($0) })
        made.load = load
        made.connections = connections
        let server = made
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            var iterator = ports.makeAsyncIterator()
            let port = try #require(await iterator.next())
            try await body(RunningConsole(frontend: frontend, port: port))
            group.cancelAll()
        }
    }

    /// Sends bytes as they are and reads until the console closes, for a minute at most.
    func raw(_ bytes: [UInt8]) async throws -> String {
        let client = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel)
                }
            }
        let timer = Task {
            try await Task.sleep(for: .seconds(60))
            try await client.channel.close()
        }
        defer { timer.cancel() }
        return try await client.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(bytes: bytes))
            var answer = ByteBuffer()
            for try await part in inbound { answer.writeImmutableBuffer(part) }
            return String(buffer: answer)
        }
    }

    /// Sends one request as a client of this application with a live session would.
    func send(
        _ method: HTTPMethod, _ path: String, _ body: String? = nil,
        application: String? = "postern", token: String? = StubFrontend.token,
        headers: [String: String] = [:]
    ) async throws -> Reply {
        var request = HTTPRequest(
            method.rawValue, "http://127.0.0.1:\(port)\(path)",
            headers: headers.map { ($0.key, $0.value) }, body: body.map { Array($0.utf8) })
        request.answerLimit = 16 << 20
        if let application { request.headers.append(("X-Parse-Application-Id", application)) }
        if let token { request.headers.append(("X-Parse-Session-Token", token)) }
        let answer = try await request.answer()
        return Reply(
            status: answer.status,
            headers: HTTPHeaders(answer.headers.map { ($0.name, $0.value) }),
            text: String(decoding: answer.body, as: UTF8.self))
    }
}
