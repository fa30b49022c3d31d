import AgentCore
import Testing

@testable import Board
@testable import LinuxIO

@Suite("Control server")
struct ControlServerTests {
    /// A tool that has called and says nothing.
    private final class Caller {
        let handle: Descriptor

        init(_ path: String) throws {
            handle = try #require(UnixAddress(path)).connect(flags: 0)
        }
    }

    @Test("does not wake for who calls while it is full, and drops who says nothing for 10 s")
    func full() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/agent.sock"
        var server = try ControlServer(path: path)
        let callers = try (0..<17).map { _ in try Caller(path) }
        var poller = Poller()
        var events: [AgentEvent] = []
        for _ in 0..<16 {
            poller.clear()
            server.register(in: &poller)
            #expect(try poller.wait(.seconds(20)) == 1)
            server.collect(poller, at: .zero, into: &events)
        }
        poller.clear()
        server.register(in: &poller)
        #expect(try poller.wait(.zero) == 0)
        #expect(server.nextDeadline == .seconds(10))
        server.collect(poller, at: .seconds(10), into: &events)
        #expect(server.nextDeadline == nil)
        poller.clear()
        server.register(in: &poller)
        #expect(try poller.wait(.zero) == 1)
        #expect(events.isEmpty)
        withExtendedLifetime(callers) {}
    }
}
