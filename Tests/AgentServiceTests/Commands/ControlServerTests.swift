import AgentCore
import Sessions
import Testing
import Wire

@testable import AgentService
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

    @Test("has four connections for a user, and drops who has asked for nothing after a second")
    func full() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/agent.sock"
        var server = try ControlServer(path: path)
        let callers = try (0..<6).map { _ in try Caller(path) }
        var poller = Poller()
        var events: [AgentEvent] = []
        func turn(at now: Duration) throws {
            poller.clear()
            server.register(in: &poller)
            _ = try poller.wait(.seconds(20))
            server.collect(poller, at: now, into: &events)
        }
        for _ in callers { try turn(at: .zero) }
        let isCut = try callers.map { caller in
            var probe = Poller()
            let slot = probe.add(caller.handle.raw, read: true, write: false)
            _ = try probe.wait(.zero)
            return probe.isReadable(slot)
        }
        #expect(isCut == [false, false, false, false, true, true])
        // A drip is no request.
        _ = try callers[0].handle.send(Array("{".utf8)[...])
        try turn(at: .milliseconds(900))
        #expect(server.nextDeadline == .seconds(1))
        server.collect(poller, at: .seconds(1), into: &events)
        #expect(server.nextDeadline == nil)
        let next = try Caller(path)
        try turn(at: .seconds(1))
        #expect(server.nextDeadline == .seconds(2))
        #expect(events.isEmpty)
        withExtendedLifetime((callers, next)) {}
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
