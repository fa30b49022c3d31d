import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Hold of writes")
struct HoldTests {
    /// Provisioned, with the first heartbeat answered.
    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    @Test("asks the authority at once when the broker forbids, and tries again on its answer")
    func forbidden() throws {
        var bench = try settled()
        for _ in 1...3 {
            let asked = try bench.sent(bench.handle(.uplink(.held(.forbidden))))
            #expect(asked.map(\.body.name) == ["authenticate"])
            let effects = try bench.answer(try #require(asked.first))
            #expect(effects.kinds.contains("retry"))
        }
    }

    @Test("tries no broker again on an answer when none forbids")
    func notHeld() throws {
        var bench = try settled()
        bench.handle(.uplink(.held(.refused("Quota exceeded"))))
        let effects = bench.run(for: .seconds(200))
        let beat = try #require(try bench.sent(effects).first { $0.body.name == "authenticate" })
        #expect(try !bench.answer(beat).kinds.contains("retry"))
    }

    @Test("asks at the next connect what it could not ask at once")
    func offline() throws {
        var bench = try settled()
        bench.handle(.uplink(.lost("TCP: the broker closed the connection")))
        #expect(try bench.sent(bench.handle(.uplink(.held(.forbidden)))).isEmpty)
        bench.run(for: .seconds(2))
        let asked = try bench.sent(bench.connect())
        #expect(asked.contains { $0.body.name == "authenticate" })
    }

    @Test("is said in words where the uplink's state is, until the broker takes writes again",
          arguments: [
              (WriteHold.forbidden, "connected; writes are held: the broker does not let this "
                  + "board publish"),
              (.refused("Quota exceeded"), "connected; writes are held: the broker accepts none "
                  + "for now (Quota exceeded)"),
          ])
    func said(hold: WriteHold, text: String) throws {
        var bench = try settled()
        bench.handle(.uplink(.held(hold)))
        #expect(bench.agent.health(up: true, at: bench.instant).uplink == text)
        bench.handle(.uplink(.held(nil)))
        #expect(bench.agent.health(up: true, at: bench.instant).uplink == "connected")
    }

    @Test("ends with the session that the authority says is over")
    func over() throws {
        var bench = try settled()
        let asked = try bench.sent(bench.handle(.uplink(.held(.forbidden))))
        let effects = try bench.reply(
            try #require(asked.first), .error(Refusal(.invalidSession, "over")))
        #expect(effects.kinds.contains("abandon"))
        #expect(!effects.kinds.contains("retry"))
    }

    @Test("connects soon once the write that ended the connections is out of the way")
    func unblocked() throws {
        var bench = try settled()
        for _ in 1...6 {
            bench.handle(.uplink(.lost("TCP: the broker closed the connection")))
            bench.run(for: .seconds(60))
            bench.connect()
        }
        bench.handle(.uplink(.lost("TCP: the broker closed the connection")))
        bench.handle(.uplink(.unblocked))
        #expect(bench.run(for: .seconds(1)).kinds.contains("connect"))
    }

    @Test("stands in `status` and `queue show`, with the limit and what was lost")
    func report() throws {
        var bench = try settled()
        var queue = QueueState(
            messages: 3, bytes: 700, oldest: bench.wall - .seconds(90))
        queue.dead = 2
        queue.losses.total = 2
        queue.losses.ranges = [4...5]
        queue.losses.causes = [.dead: 2]
        bench.handle(.queue(queue))
        bench.handle(.uplink(.held(.forbidden)))
        let report = bench.agent.queueReport(at: bench.instant)
        #expect(report["dead"] == .integer(2))
        #expect(report["hold"] == .string("\(WriteHold.forbidden)"))
        let shown = try #require(report["queue"]?.asObject)
        #expect(shown["messages"] == .integer(3))
        #expect(shown["bytes"] == .integer(700))
        #expect(shown["limit"] != nil)
        #expect(shown["oldestAge"] == .integer(90))
        #expect(report["losses"] == .object([
            "total": .integer(2), "causes": .object(["dead": .integer(2)]),
            "classes": .object([:]),
            "ranges": .array([.array([.integer(4), .integer(5)])]),
        ]))
        let status = try #require(bench.agent.status(at: bench.instant).asObject)
        for (name, value) in report { #expect(status[name] == value) }
    }

    @Test("tells the grants before the way is opened")
    func order() throws {
        var bench = try Bench()
        let kinds = try bench.provision().kinds + bench.connect().kinds
        let grant = try #require(kinds.firstIndex(of: "grant"))
        let forward = try #require(kinds.lastIndex(of: "forward"))
        #expect(grant < forward)
    }
}
