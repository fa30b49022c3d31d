import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import AuthorityHTTP

@Suite("Console connections")
struct ConnectionTests {
    /// A limiter, and what it closed.
    private final class Bench: Sendable {
        let limiter: ConnectionLimiter
        private let ended = Mutex<[String]>([])
        private let seconds = Mutex<UInt64>(1)

        init(all: Int = 6, each: Int = 3, proxies: Set<String> = []) {
            limiter = ConnectionLimiter(ConnectionLimits(all: all, each: each), proxies: proxies)
        }

        var closed: [String] { ended.withLock { $0 } }

        /// A second later each time.
        var now: NIODeadline {
            seconds.withLock { seconds in
                seconds += 1
                return NIODeadline.uptimeNanoseconds(seconds * 1_000_000_000)
            }
        }

        func enter(_ address: String, _ name: String) -> OpenConnection? {
            limiter.enter(from: address, at: now) { self.ended.withLock { $0.append(name) } }
        }
    }

    @Test("of one address are bounded, and the longest idle of them goes")
    func each() throws {
        let bench = Bench()
        let first = try #require(bench.enter("192.0.2.1", "first"))
        for name in ["second", "third"] { #expect(bench.enter("192.0.2.1", name) != nil) }
        #expect(bench.enter("192.0.2.2", "neighbour") != nil)
        first.isUsed(at: bench.now)
        #expect(bench.enter("192.0.2.1", "fourth") != nil)
        #expect(bench.closed == ["second"])
        bench.limiter.leave(first)
        bench.limiter.leave(first)
        #expect(bench.enter("192.0.2.1", "fifth") != nil)
        #expect(bench.closed == ["second"])
        #expect(bench.enter("192.0.2.1", "sixth") != nil)
        #expect(bench.closed == ["second", "third"])
    }

    @Test("are bounded by network where the address is IPv6")
    func networks() {
        let bench = Bench()
        for host in 1...4 { _ = bench.enter("2001:db8::\(host)", "\(host)") }
        #expect(bench.closed == ["1"])
        _ = bench.enter("2001:db8:0:1::1", "elsewhere")
        #expect(bench.closed == ["1"])
    }

    @Test("are bounded in all, and the longest idle of anybody goes")
    func all() {
        let bench = Bench()
        for host in 1...6 { _ = bench.enter("192.0.2.\(host)", "\(host)") }
        #expect(bench.closed == [])
        #expect(bench.enter("192.0.2.9", "probe") != nil)
        #expect(bench.closed == ["1"])
    }

    @Test("of our proxies are as many as there may be in all")
    func proxies() {
        let bench = Bench(proxies: ["192.0.2.1"])
        for number in 1...6 { _ = bench.enter("192.0.2.1", "\(number)") }
        #expect(bench.closed == [])
        _ = bench.enter("::ffff:192.0.2.1", "7")
        #expect(bench.closed == ["1"])
    }

    @Test("of the broker that asks are kept, and it may have more")
    func broker() throws {
        let bench = Bench()
        let asked = try #require(bench.enter("192.0.2.1", "asked"))
        bench.limiter.keepForBroker(asked)
        for number in 1...5 { _ = bench.enter("192.0.2.1", "\(number)") }
        #expect(bench.closed == [])
        for number in 6...20 { _ = bench.enter("192.0.2.\(number)", "\(number)") }
        #expect(bench.closed.count == 15)
        #expect(!bench.closed.contains("asked"))
        let full = Bench(all: 1, each: 1)
        full.limiter.keepForBroker(try #require(full.enter("192.0.2.1", "asked")))
        #expect(full.enter("192.0.2.2", "late") == nil)
        #expect(full.closed == [])
    }

    /// Connects from another address of this machine, and reads until it is closed.
    private static func silent(
        from address: String, to port: Int, saying text: String = ""
    ) async throws -> any Channel {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .bind(to: SocketAddress(ipAddress: address, port: 0))
            .connect(host: "127.0.0.1", port: port).get()
        if !text.isEmpty { try await channel.writeAndFlush(ByteBuffer(string: text)) }
        return channel
    }

    @Test("that send no whole header are closed in time", arguments: [
        "", "GET /parse/health HTTP/1.1\r\nHost: x\r\n",
    ])
    func header(text: String) async throws {
        let limits = ConnectionLimits(header: .seconds(2))
        try await RunningConsole.with(connections: limits) { console in
            let silent = try await Self.silent(
                from: "127.0.0.1", to: console.port, saying: text)
            try await silent.closeFuture.get()
            #expect(try await console.send(.GET, "/parse/health").status == 200)
        }
    }

    @Test("of one address, held for nothing, keep nobody out", .timeLimit(.minutes(2)))
    func held() async throws {
        try await RunningConsole.with(
            connections: ConnectionLimits(all: 40, each: 8)
        ) { console in
            var held: [any Channel] = []
            for host in 3...10 {
                for _ in 0..<10 {
                    held.append(
                        try await Self.silent(from: "127.0.0.\(host)", to: console.port))
                }
                let health = try await console.send(.GET, "/parse/health")
                #expect(health.status == 200)
            }
            for channel in held.prefix(2) { try await channel.closeFuture.get() }
            for channel in held { channel.close(promise: nil) }
        }
    }
}
