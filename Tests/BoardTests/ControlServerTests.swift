import AgentCore
import Sessions
import Testing
import Wire

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

    @Test("waits longer with an answer than with a question, and gives it to who asked")
    func answers() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/agent.sock"
        var server = try ControlServer(path: path)
        let caller = try Caller(path)
        _ = try caller.handle.send(Array("{\"request\":\"refresh\"}\n".utf8)[...])
        var events: [AgentEvent] = []
        var poller = Poller()
        for _ in 0..<2 {
            poller.clear()
            server.register(in: &poller)
            #expect(try poller.wait(.seconds(20)) == 1)
            server.collect(poller, at: .zero, into: &events)
        }
        guard case .control(.refresh(nil), let connection) = try #require(events.first) else {
            Issue.record("not asked")
            return
        }
        #expect(server.nextDeadline == ControlServer.answerPatience)
        server.answer(connection, .object(["result": .string("done")]))
        var bytes = [UInt8](repeating: 0, count: 100)
        poller.clear()
        poller.add(caller.handle.raw, read: true, write: false)
        #expect(try poller.wait(.seconds(20)) == 1)
        guard case .bytes(let count) = try caller.handle.read(into: &bytes) else {
            Issue.record("not answered")
            return
        }
        #expect(String(decoding: bytes.prefix(count), as: UTF8.self)
            == "{\"result\":\"done\"}\n")
    }

    @Test("reads and writes each request alike", arguments: [
        .status, .session, .pair, .pairNew, .logout, .refresh(minutes: nil),
        .refresh(minutes: 43_200), .refresh(minutes: .max),
    ] as [ControlRequest])
    func requests(request: ControlRequest) throws {
        #expect(try ControlRequest(json: JSONObject(parsing: request.json.bytes)) == request)
    }

    @Test("takes no other request", arguments: [
        "{}", "{\"request\":\"unpair\"}", "{\"request\":7}",
        "{\"request\":\"refresh\",\"durationMinutes\":\"long\"}",
    ])
    func unknown(text: String) throws {
        let json = try JSONObject(parsing: Array(text.utf8))
        #expect(throws: WireError.self) { try ControlRequest(json: json) }
    }
}
