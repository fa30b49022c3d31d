import AuthorityCore
import ConfigurationFiles
import Foundation
import NIOCore
import NIOPosix
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("Key set's source")
struct KeySetSourceTests {
    private static let keys = #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":""#
        + Base64URL.encode([UInt8](repeating: 7, count: 32)) + #""}]}"#

    @Test("is an address that answers with a key set, whatever type it says that is")
    func address() async throws {
        let answer = try await CannedServer.with(Self.answer(Self.keys)) { url in
            try await KeySetSource(.url(url)).read().get()
        }
        #expect(answer.entries.count == 1)
    }

    @Test("is no address that answers otherwise", arguments: [
        ("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
         "HTTP: status 302"),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "HTTP: status 404"),
        ("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "HTTP: status 500"),
        (answer("<html>"), "key set: it has no key that can be used here"),
        (answer(#"{"keys":[]}"#), "key set: it has no key that can be used here"),
        (answer(keys + String(repeating: " ", count: 65_536)),
         "HTTP: the answer is longer than 64 KiB"),
    ])
    func otherwise(answer: String, words: String) async throws {
        let result = try await CannedServer.with(answer) { url in
            await KeySetSource(.url(url)).read()
        }
        #expect(self.words(result) == words)
    }

    @Test("is no address that breaks off, speaks no HTTP, or is not there")
    func broken() async throws {
        for answer in ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "hello\r\n\r\n"] {
            let result = try await CannedServer.with(answer) { url in
                await KeySetSource(.url(url)).read()
            }
            #expect(words(result)?.hasPrefix("HTTP: ") == true, "\(result)")
        }
        let gone = try await CannedServer.with("") { url in url }
        let said = try #require(words(await KeySetSource(.url(gone)).read()))
        // Neither path nor host is told to who tries to log in.
        #expect(said.hasPrefix("TCP: ") && !said.contains("127.0.0.1"))
    }

    @Test("is trusted by its certificate: no clear text stands in for TLS")
    func noTLS() async throws {
        let result = try await CannedServer.with(Self.answer(Self.keys)) { url in
            await KeySetSource(.url("https" + url.dropFirst(4))).read()
        }
        #expect(words(result)?.hasPrefix("TLS: ") == true, "\(result)")
    }

    @Test("is a file that nobody else may change")
    func file() async throws {
        let provider = try IDProvider()
        let place = provider.place
        func allow(_ mode: Int) throws {
            try FileManager.default.setAttributes(
                [.posixPermissions: mode], ofItemAtPath: provider.path)
        }
        #expect(try await KeySetSource(place).read().get().entries.count == 1)
        try allow(0o666)
        #expect(words(await KeySetSource(place).read()) == "file: it could not be read")
        try allow(0o644)
        #expect(try await KeySetSource(place).read().get().entries.count == 1)
    }

    private static func answer(_ body: String) -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            + body
    }

    private func words(_ result: Result<IdentityKeySet, KeySetFailure>) -> String? {
        if case .failure(let failure) = result { failure.words } else { nil }
    }
}

/// Answers every connection with the same bytes after its first ones, and closes it.
private enum CannedServer {
    static func with<R: Sendable>(
        _ answer: String, _ body: @Sendable (String) async throws -> R
    ) async throws -> R {
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(host: "127.0.0.1", port: 0) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel)
                }
            }
        let port = try #require(server.channel.localAddress?.port)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.executeThenClose { connections in
                    for try await connection in connections { await serve(connection, answer) }
                }
            }
            defer { group.cancelAll() }
            return try await body("http://127.0.0.1:\(port)/keys")
        }
    }

    private static func serve(
        _ connection: NIOAsyncChannel<ByteBuffer, ByteBuffer>, _ answer: String
    ) async {
        // The other side may hang up first.
        try? await connection.executeThenClose { inbound, outbound in
            for try await _ in inbound {
                try await outbound.write(ByteBuffer(string: answer))
                return
            }
        }
    }
}
