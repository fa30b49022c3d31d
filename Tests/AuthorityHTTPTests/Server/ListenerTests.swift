import Logging
import MetricsServer
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

import AuthorityHTTP

private let quiet = Logger(label: "console", factory: { _ in SwiftLogNoOpLogHandler() })

/// Runs a server that tells its port, while `body` runs.
private func serving(
    _ run: @escaping @Sendable (@escaping @Sendable (Int) async -> Void) async throws -> Void,
    _ body: @Sendable (RunningConsole) async throws -> Void
) async throws {
    let (ports, found) = AsyncStream.makeStream(of: Int.self)
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await run { found.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next())
        try await body(RunningConsole(frontend: StubFrontend(), port: port))
        group.cancelAll()
    }
}

@Suite("The server while the store is away")
struct StoreAwayTests {
    private func away(
        at port: Int = 0, _ body: @Sendable (RunningConsole) async throws -> Void
    ) async throws {
        try await serving({ onListening in
            try await StoreAwayServer(
                listen: ("127.0.0.1", port), logger: quiet, onListening: onListening
            ).run()
        }, body)
    }

    @Test("answers everybody with 503, load balancers too", arguments: [
        ("GET /postern/v1/health", #"{"status":"store-away"}"#),
        ("GET /postern/v1/health?x=1", #"{"status":"store-away"}"#),
        ("GET /postern/v1/boards", #""name":"store-away"}"#),
        ("DELETE /", #""name":"store-away"}"#), ("HEAD /postern/v1/health", "\r\n\r\n"),
    ])
    func answers(line: String, end: String) async throws {
        try await away { console in
            let answer = try await console.raw(
                Array("\(line) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8))
            #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.hasSuffix(end), "\(answer)")
            #expect(answer.lowercased().contains("connection: close"))
        }
    }

    /// Hummingbird traps if it is cancelled between accepting a connection and serving it.
    @Test("ends in order while connections arrive")
    func endUnderLoad() async throws {
        for _ in 0..<20 {
            try await away { console in
                let port = console.port
                for _ in 0..<64 {
                    Task {
                        let client = try? await ClientBootstrap(
                            group: .singletonMultiThreadedEventLoopGroup
                        ).connect(host: "127.0.0.1", port: port).get()
                        try? await client?.close()
                    }
                }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }

    @Test("gives its port back while a client still holds a connection")
    func end() async throws {
        let port = Mutex(0)
        try await away { console in
            port.withLock { $0 = console.port }
            _ = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(host: "127.0.0.1", port: console.port).get()
        }
        let same = port.withLock { $0 }
        try await away(at: same) { #expect($0.port == same) }
    }
}

@Suite("Metrics over HTTP")
struct MetricsServerTests {
    private func metrics(
        _ collect: @escaping MetricsListener.Collect = {
            var text = MetricsText()
            text.counter("apples_total", "Apples.", 3)
            return text
        },
        _ body: @Sendable (RunningConsole) async throws -> Void
    ) async throws {
        try await serving({ onListening in
            try await MetricsListener(
                host: "127.0.0.1", port: 0, logger: quiet, onListening: onListening,
                collect: collect
            ).run()
        }, body)
    }

    @Test("are served as Prometheus reads them")
    func text() async throws {
        try await metrics { console in
            let reply = try await console.send(.GET, "/metrics", application: nil, token: nil)
            #expect(reply.status == 200)
            #expect(reply.headers.first(name: "content-type") == MetricsText.contentType)
            #expect(reply.text.hasSuffix("\napples_total 3\n"), "\(reply.text)")
        }
    }

    @Test("are all that there is", arguments: [
        ("GET / HTTP/1.1\r\nHost: localhost", "404"),
        ("GET /postern/v1/info HTTP/1.1\r\nHost: localhost", "404"),
        ("POST /metrics HTTP/1.1\r\nHost: 127.0.0.1:1", "405"),
        ("HEAD /metrics HTTP/1.1\r\nHost: [::1]", "200"),
        ("GET /metrics HTTP/1.1\r\nHost: evil.example", "421"),
        ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example", "421"),
        ("GET /metrics HTTP/1.1", "421"), ("\u{0}\u{1}", "400"),
    ])
    func refusals(head: String, status: String) async throws {
        try await metrics { console in
            let answer = try await console.raw(
                Array("\(head)\r\nConnection: close\r\n\r\n".utf8))
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
        }
    }

    @Test("are 503 while the store is away")
    func away() async throws {
        try await metrics({ nil }) { console in
            let reply = try await console.send(.GET, "/metrics", application: nil, token: nil)
            #expect(reply.status == 503)
            #expect(reply.text.contains(#""name":"store-away""#))
        }
    }
}
