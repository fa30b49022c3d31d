import AuthorityCore
import ConfigurationFiles
import Foundation
import Logging
import NIOCore
import NIOPosix
import Sessions
import Testing

@testable import AuthorityService

@Suite("The authority's metrics")
struct MetricsServiceTests {
    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func service(_ path: String) -> MetricsService {
        MetricsService(place: .socket(path), logger: quiet) { () throws(AuthorityError) in
            throw .failed(layer: "store", text: "a secret address")
        }
    }

    private func mode(_ path: String) -> Int? {
        let found = try? FileManager.default.attributesOfItem(atPath: path)
        return found?[.posixPermissions] as? Int
    }

    private func ask(_ path: String) async throws -> String {
        let client = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel)
                }
            }
        return try await client.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(
                string: "GET /metrics HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n"))
            var answer = ByteBuffer()
            for try await part in inbound { answer.writeImmutableBuffer(part) }
            return String(buffer: answer)
        }
    }

    @Test("are at a socket for its owner and its group, until the end", .timeLimit(.minutes(5)))
    func socket() async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/m.sock"
        let task = Task { await service(path).run() }
        while mode(path) != 0o660 { try await Task.sleep(for: .milliseconds(10)) }
        let answer = try await ask(path)
        #expect(answer.hasPrefix("HTTP/1.1 503 ") && !answer.contains("secret"), "\(answer)")
        task.cancel()
        await task.value
        #expect(mode(path) == nil)
    }

    @Test("leave the socket of another that is served", .timeLimit(.minutes(5)))
    func taken() async throws {
        let folder = try TemporaryFolder()
        let path = "\(folder.path)/m.sock"
        let first = Task { await service(path).run() }
        while mode(path) != 0o660 { try await Task.sleep(for: .milliseconds(10)) }
        let second = Task { await service(path).run() }
        second.cancel()
        await second.value
        #expect(try await ask(path).hasPrefix("HTTP/1.1 503 "))
        first.cancel()
        await first.value
    }
}
