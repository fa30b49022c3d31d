import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Commands")
struct CommandTests {
    @Test("are durable before they go to the app, with id, deadline and expiry")
    func delivered() throws {
        var board = try CommandBench()
        let id = try board.send()
        let kinds = board.effects.kinds.filter { ["commit", "command"].contains($0) }
        #expect(kinds == ["commit", "command"])
        let (handed, publication) = try #require(board.handed.first)
        #expect(handed == id && publication.topic == "postern/app/heater/command")
        #expect(!publication.retain && publication.expiry == 60)
        let deadline = (board.now + .seconds(60)).seconds
        #expect(String(decoding: publication.payload, as: UTF8.self)
            == #"{"command":{"celsius":21},"deadline":\#(deadline),"id":"\#(id)"}"#)
        #expect(board.results.isEmpty)
        try board.handle(.commandPublished(id, .taken))
        #expect(board.states == ["delivered"])
        try board.answer(id)
        #expect(board.states == [#"answered {"ok":true}"#])
        #expect(board.effects.kinds.first == "commit")
        try board.confirm()
        let effects = board.bench.run(for: .seconds(3600))
        #expect(effects.published("postern/app/heater/rejected").isEmpty)
    }

    @Test("are delivered once, however often they come again")
    func once() throws {
        var board = try CommandBench()
        let id = try board.send()
        try board.send(id)
        #expect(board.handed.isEmpty && board.results.isEmpty)
        try board.handle(.commandPublished(id, .taken))
        try board.send(id)
        #expect(board.handed.isEmpty && board.states == ["delivered"])
        try board.answer(id)
        try board.send(id)
        #expect(board.handed.isEmpty && board.states == [#"answered {"ok":true}"#])
        try board.confirm()
        try board.send(id)
        #expect(board.handed.isEmpty && board.states == ["delivered"])
        try board.restart()
        try board.send(id)
        #expect(board.handed.isEmpty && board.states == ["delivered"])
    }

    @Test("wait for a subscriber, and expire without one")
    func unheard() throws {
        var board = try CommandBench()
        let id = try board.send()
        var tries = 1
        while board.states.isEmpty, tries < 20 {
            // A deadline may be named a fraction of a millisecond early, and then once more.
            if !board.handed.isEmpty { try board.handle(.commandPublished(id, .unheard)) }
            let next = try #require(board.bench.agent.commandDeadline(at: board.bench.instant))
            try board.run(for: next - board.bench.monotonic)
            tries += board.handed.count
        }
        #expect(board.states == ["expired away"])
        // 2 s, 4 s, 8 s, 10 s, …
        #expect(tries == 8)
        #expect(try board.answer(id) == 101)
    }

    @Test("go to an app that comes later")
    func later() throws {
        var board = try CommandBench()
        let id = try board.send()
        try board.handle(.commandPublished(id, .unheard))
        try board.run(for: .seconds(2))
        #expect(board.handed.map(\.id) == [id])
        #expect(board.handed.first?.publication.expiry == 58)
        try board.handle(.commandPublished(id, .taken))
        #expect(board.states == ["delivered"])
        try board.run(for: .seconds(60))
        #expect(board.states == ["expired there"])
    }

    @Test("that were on their way when the agent ended are never sent again")
    func killed() throws {
        var board = try CommandBench()
        let id = try board.send()
        try board.restart()
        #expect(board.handed.isEmpty)
        try board.send(id)
        #expect(board.handed.isEmpty && board.states == ["uncertain"])
        #expect(try board.answer(id) == nil)
        #expect(board.states == [#"answered {"ok":true}"#])
        try board.restart()
        #expect(board.states == [#"answered {"ok":true}"#])
    }

    @Test("that were on their way when the bus was lost are never sent again")
    func busLost() throws {
        var board = try CommandBench()
        let (first, second) = (try board.send(), MessageID.fresh())
        try board.handle(.commandPublished(first, .lost))
        #expect(board.states == ["uncertain"])
        try board.handle(.busLost)
        try board.send(second)
        #expect(board.handed.isEmpty && board.results.isEmpty)
        try board.handle(.busConnected(resumed: true))
        #expect(board.handed.map(\.id) == [second] && first != second)
    }

    @Test("that had not left when the bus was lost are sent later")
    func unsent() throws {
        var board = try CommandBench()
        let id = try board.send()
        try board.handle(.busLost)
        #expect(board.results.isEmpty)
        try board.handle(.commandPublished(id, .unsent))
        try board.handle(.busConnected(resumed: true))
        #expect(board.handed.map(\.id) == [id] && board.results.isEmpty)
    }

    @Test("need no disk for their delivery and their end")
    func fullDisk() throws {
        var board = try CommandBench()
        let (first, second) = (try board.send(), try board.send())
        let commits = board.bench.store.commits
        try board.handle(.commandPublished(first, .taken))
        try board.handle(.commandPublished(second, .lost))
        try board.handle(.busLost)
        try board.run(for: .seconds(61))
        #expect(board.states == ["expired there", "expired there"])
        #expect(board.bench.store.commits == commits)
        try board.restart()
        #expect(board.handed.isEmpty && board.states == ["expired there", "expired there"])
    }

    @Test("that nobody got are given back at a stop")
    func stopped() throws {
        var board = try CommandBench()
        let (waiting, flying) = (try board.send(), MessageID.fresh())
        try board.handle(.commandPublished(waiting, .unheard))
        try board.send(flying)
        try board.handle(.stop)
        #expect(try board.bench.store.load().commands.all.map(\.id) == [flying])
        try board.restart()
        try board.send(waiting)
        #expect(board.handed.map(\.id) == [waiting])
    }

    @Test("of another session, or without one, are refused")
    func session() throws {
        var board = try CommandBench()
        try board.send(session: "Session002")
        #expect(board.states == ["refused 209"])
        #expect(try board.kept == 0)
        // The authority's reply to it is no fault.
        try board.confirm()
        #expect(board.bench.agent.health(up: true, at: board.bench.instant).dropped == 0)
        let waiting = try board.send()
        try board.handle(.inbox(try board.bench.authority.seal(
            .revoked(
                sequence: 1_900_000_000_000, session: try #require(ObjectID("Session001")),
                reason: "revoked"), at: board.now)))
        #expect(try board.kept == 0)
        try board.handle(.uplink(.connected))
        try board.handle(.uplink(.ready))
        try board.send(waiting)
        #expect(board.states == ["refused 209"] && board.handed.isEmpty)
    }

    @Test("are left alone while the clock is unset or the session offline")
    func nothing() throws {
        var board = try CommandBench()
        let (id, wall) = (MessageID.fresh(), board.bench.wall)
        let payload = try board.command(id)
        board.bench.wall = Timestamp(milliseconds: 0)
        try board.handle(.inbox(payload))
        #expect(board.results.isEmpty && board.handed.isEmpty)
        board.bench.wall = wall + .seconds(7300)
        try board.send(id)
        #expect(board.results.isEmpty && board.handed.isEmpty)
        board.bench.wall = wall
        try board.send(id)
        #expect(board.handed.map(\.id) == [id])
    }

    @Test("with a deadline too far ahead are left alone, too")
    func far() throws {
        var board = try CommandBench()
        try board.send(in: .seconds(86_400 + 302))
        #expect(board.results.isEmpty && board.handed.isEmpty)
        #expect(board.bench.agent.health(up: true, at: board.bench.instant).dropped == 0)
        try board.send(in: .seconds(86_400 + 299))
        #expect(board.handed.count == 1)
    }

    @Test("that came too late stay expired when the clock is set back")
    func late() throws {
        var board = try CommandBench()
        let payload = try board.command()
        board.bench.pass(.seconds(61))
        try board.handle(.inbox(payload))
        #expect(board.states == ["expired away"])
        board.bench.wall = board.bench.wall + .seconds(-61)
        try board.handle(.inbox(payload))
        #expect(board.states == ["expired away"] && board.handed.isEmpty)
        #expect(board.figures.commands.expired == 1)
        try board.restart()
        try board.handle(.inbox(payload))
        #expect(board.handed.isEmpty)
        // Others are still taken.
        try board.send(in: .seconds(30))
        #expect(board.handed.count == 1)
    }

    @Test("whose id was forgotten stay expired when the clock is set back")
    func forgotten() throws {
        var board = try CommandBench()
        let id = MessageID.fresh()
        let payload = try board.command(id)
        try board.handle(.inbox(payload))
        try board.handle(.commandPublished(id, .taken))
        try board.run(for: .seconds(700))
        try board.send()
        #expect(try board.kept == 1)
        board.bench.wall = board.bench.wall + .seconds(-700)
        try board.handle(.inbox(payload))
        #expect(board.handed.isEmpty && board.states == ["refused 142 builtin:command"])
        #expect(board.effects.logs.contains { $0.contains("set back") })
        try board.handle(.inbox(payload))
        #expect(board.effects.logs.isEmpty)
    }

    @Test("beyond 64 wait until there is room")
    func full() throws {
        var board = try CommandBench()
        for _ in 0..<TakenCommands.limit { try board.send() }
        #expect(try board.kept == 64)
        let id = try board.send()
        #expect(board.handed.isEmpty && board.results.isEmpty)
        try board.run(for: .seconds(62))
        try board.send(id)
        #expect(board.handed.map(\.id) == [id])
        #expect(try board.kept == 1)
    }

    @Test("are destroyed with their session")
    func destroyed() throws {
        var board = try CommandBench()
        let id = try board.send(in: .seconds(60), .string("of-ann"))
        try board.handle(.commandPublished(id, .taken))
        try board.answer(id, #""answer-of-ann""#)
        #expect(board.bench.store.text.contains("answer-of-ann"))
        #expect(!board.bench.store.text.contains("\"of-ann\""))
        let claim = try board.bench.pair(fresh: true)
        let provision = try board.bench.authority.provision(
            "eve", session: "Session002", sequence: 200, at: board.now)
        try board.handle(.inbox(try board.bench.authority.seal(
            .provision(provision), claim: claim, at: board.now)))
        #expect(!board.bench.store.text.contains("answer-of-ann"))
        #expect(try board.kept == 0)
    }

    @Test("wake the agent for nothing else")
    func idle() throws {
        var board = try CommandBench()
        let id = try board.deliver()
        try board.answer(id)
        try board.confirm()
        let mine = board.bench.agent.commandDeadline(at: board.bench.instant)
        #expect(mine == nil)
    }
}
