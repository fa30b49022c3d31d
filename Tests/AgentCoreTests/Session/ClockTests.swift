import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Clock")
struct ClockTests {
    private static let decade = Duration.seconds(10 * 365 * 86_400)

    private func settled() throws -> Bench {
        var bench = try Bench()
        let sent = try bench.sent(try bench.provision())
        try bench.answer(try #require(sent.last))
        return bench
    }

    @Test("that is off is set by a 142, and the request made again with a fresh id")
    func correction() throws {
        var bench = try Bench()
        bench.wall = Bench.start - .seconds(600)
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        let provisioned = bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision()), claim: claim)))
        let first = try #require(try bench.sent(provisioned).last)
        #expect(first.clockUnset)
        let effects = try bench.reply(
            first, .error(Refusal(.validation, "clock")), now: Bench.start)
        let again = try #require(try bench.sent(effects).first { $0.body.name == "authenticate" })
        #expect(again.id != first.id)
        #expect(!again.clockUnset)
        #expect(again.issuedAt == Bench.start)
        try bench.answer(again, now: Bench.start)
        #expect(bench.agent.status(at: bench.instant).asObject?["clock"] == .string("set"))
    }

    @Test("corrections are bounded: no ping-pong with an authority that is never content")
    func bounded() throws {
        var bench = try Bench()
        var message = try bench.sent(try bench.provision()).last
        var asked = 0
        while let open = message, asked < 50 {
            asked += 1
            let effects = try bench.reply(open, .error(Refusal(.validation, "clock")))
            message = try bench.sent(effects).first
        }
        #expect(asked <= 5)
        let later = try bench.sent(bench.run(for: .seconds(600)))
        #expect((1...10).contains(later.count))
        #expect(try bench.store.load().session != nil)
    }

    /// Settled, and at the instant its refresh is sent.
    private func refreshing() throws -> (Bench, BoardMessage) {
        var bench = try settled()
        for _ in 0..<1000 {
            for message in try bench.sent(bench.run(for: .seconds(5))) {
                if message.body.name == "refresh" { return (bench, message) }
                try bench.answer(message)
            }
        }
        throw Missing()
    }

    private struct Missing: Error {}

    @Test("a refresh whose time the reply proves off gets a fresh id, durable before it is sent")
    func refreshCorrection() throws {
        var (bench, first) = try refreshing()
        let effects = try bench.reply(
            first, .error(Refusal(.validation, "clock")), now: bench.wall + .seconds(1000))
        let again = try #require(try bench.sent(effects).first { $0.body.name == "refresh" })
        #expect(again.id != first.id)
        #expect(try bench.store.load().session?.pendingRefresh == again.id)
        #expect(effects.kinds.lastIndex(of: "commit").map { $0 < effects.count - 1 } == true)
    }

    @Test("a refresh that may have counted keeps its id, whatever an old 142 says",
          arguments: [0, 1, 2])
    func refreshKept(index: Int) throws {
        var (bench, first) = try refreshing()
        var now = bench.wall
        if index == 1 {
            // Withheld for long: its `now` proves nothing of the times sent since.
            now = bench.wall - .seconds(1000)
            bench.run(for: .seconds(70))
        } else if index == 2 {
            try bench.restart()
            bench.handle(.started)
            bench.connect()
            now = bench.wall + .seconds(1000)
        }
        let effects = try bench.reply(
            first, .error(Refusal(.validation, "clock")), now: now)
        let later = try bench.sent(effects + bench.run(for: .seconds(300)))
            .filter { $0.body.name == "refresh" }
        #expect(!later.isEmpty)
        #expect(later.allSatisfy { $0.id == first.id })
        #expect(try bench.store.load().session?.pendingRefresh == first.id)
    }

    @Test("is not turned back by a reply that was kept or withheld", arguments: [true, false])
    func withheld(restarts: Bool) throws {
        var (bench, first) = try refreshing()
        let before = try #require(try bench.store.load().session).lastContact
        if restarts {
            try bench.restart()
            bench.handle(.started)
            bench.connect()
        } else {
            bench.run(for: .seconds(61))
        }
        let floor = try bench.store.load().memory.floor
        try bench.grant(first, generation: 2, now: Bench.start - .seconds(9000))
        #expect(bench.store.text.contains("rt:secret-Session001-2"))
        #expect(try bench.store.load().memory.floor == floor)
        #expect(try bench.store.load().session?.lastContact == before)
        let status = bench.agent.status(at: bench.instant).asObject
        #expect(status?["time"]?.asInteger.flatMap(Timestamp.init(seconds:))
            .map { $0 >= Bench.start } == true)
        #expect(status?["clock"] == .string("set"))
    }

    @Test("that is not set judges no end", arguments: [0, 1_000_000, 1_699_999_999] as [Int64])
    func unset(seconds: Int64) throws {
        var bench = try settled()
        bench.wall = try #require(Timestamp(seconds: seconds))
        try bench.restart()
        #expect(bench.handle(.started).states == ["available"])
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(bench.store.writes.count == 1)
        let sent = try bench.sent(bench.connect())
        #expect(sent.first?.clockUnset == true)
    }

    @Test("below its floor is not set, though it is past the build date")
    func floor() throws {
        var bench = try settled()
        bench.wall = Bench.start - .seconds(60)
        try bench.restart()
        bench.handle(.started)
        #expect(try bench.sent(bench.connect()).first?.clockUnset == true)
        #expect(try bench.store.load().memory.floor == Bench.start)
    }

    @Test("may be told a lower floor by the reply to its own request")
    func lowered() throws {
        var bench = try settled()
        let sent = try bench.sent(bench.run(for: .seconds(200)))
        let earlier = Bench.start - .seconds(100_000)
        try bench.answer(try #require(sent.first), now: earlier)
        #expect(try bench.store.load().memory.floor == earlier)
        #expect(bench.agent.status(at: bench.instant).asObject?["clock"] == .string("set"))
    }

    @Test("jumping ten years forward and back while it runs moves nothing")
    func jumpsRunning() throws {
        var bench = try settled()
        for jump in [Self.decade, .zero - Self.decade, .zero - Self.decade, Self.decade] {
            bench.wall = jump > .zero ? bench.wall + jump : bench.wall - (.zero - jump)
            let effects = bench.handle(.deadline)
            #expect(effects.states.isEmpty)
            #expect(effects.commits.isEmpty)
            bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        }
        #expect(bench.store.writes.count == 4)
        let times = Set(bench.store.writes.map(\.acceptedAt))
        #expect(times.allSatisfy { $0 >= Bench.start && $0 <= Bench.start + .seconds(3600) })
    }

    @Test("ten years ahead at a start destroys nothing, and the first reply mends it")
    func jumpAtStart() throws {
        var bench = try settled()
        let before = bench.store.text
        bench.wall = Bench.start + Self.decade
        try bench.restart()
        let effects = bench.handle(.started)
        #expect(effects.states == ["expired"])
        #expect(bench.store.text == before)
        let sent = try bench.sent(bench.connect())
        let first = try #require(sent.first { $0.body.name == "authenticate" })
        let corrected = try bench.reply(
            first, .error(Refusal(.validation, "clock")), now: Bench.start)
        let again = try #require(try bench.sent(corrected).first)
        let answered = try bench.answer(again, now: Bench.start)
        #expect((corrected.states + answered.states) == ["available"])
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(bench.store.writes.count == 1)
        #expect(try bench.store.load().session?.tokens.session.reveal() == "r:secret-Session001")
    }

    @Test("ten years ahead while it runs on its own clock: withheld, and back as it was")
    func jumpWithoutContact() throws {
        var bench = try settled()
        try bench.restart()
        bench.handle(.started)
        let before = bench.store.text
        bench.wall = bench.wall + Self.decade
        #expect(bench.handle(.deadline).states == ["expired"])
        bench.wall = bench.wall - Self.decade
        #expect(bench.handle(.deadline).states == ["available"])
        #expect(bench.store.text == before)
    }

    @Test("off by ten minutes either way locks nobody out", arguments: [-600, 600] as [Int64])
    func skew(seconds: Int64) throws {
        var bench = try settled()
        let refresh = bench.store.text
        bench.pass(.seconds(60))
        bench.wall = bench.wall + .seconds(seconds)
        try bench.restart()
        let started = bench.handle(.started)
        #expect(started.states == ["available"])
        let now = Bench.start + .seconds(60)
        let first = try #require(
            try bench.sent(bench.connect()).first { $0.body.name == "authenticate" })
        #expect(first.clockUnset == (seconds < 0))
        let corrected = try bench.reply(
            first, .error(Refusal(.validation, "clock")), now: now)
        let again = try #require(
            try bench.sent(corrected).first { $0.body.name == "authenticate" })
        #expect(abs((again.issuedAt - now).components.seconds) <= 1)
        try bench.answer(again, now: now)
        #expect(refresh.contains("rt:secret-Session001-1"))
        #expect(bench.store.text.contains("rt:secret-Session001-1"))
        #expect(bench.agent.status(at: bench.instant).asObject?["state"] == .string("available"))
    }

    @Test("years ahead on a board that was never told the time takes a fresh provisioning")
    func unclaimedAhead() throws {
        var bench = try Bench()
        bench.wall = Bench.start + Self.decade
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        bench.pass(.seconds(600))
        let effects = bench.handle(.inbox(try bench.authority.seal(
            .provision(try bench.authority.provision()), claim: claim)))
        #expect(effects.states == ["available"])
        let sent = try bench.sent(effects)
        #expect(sent.map(\.body.name) == ["accepted", "authenticate"])
        #expect(sent.allSatisfy { $0.clockUnset })
        try bench.answer(try #require(sent.last), now: Bench.start + .seconds(601))
        let status = bench.agent.status(at: bench.instant).asObject
        #expect(status?["clock"] == .string("set"))
        #expect(status?["state"] == .string("available"))
    }

    @Test("refuses a kept provisioning that may have ended since its claim was made", arguments: [
        3600, 80_000, 90_000,
    ] as [Int64])
    func kept(age: Int64) throws {
        var bench = try Bench()
        bench.handle(.started)
        let claim = try bench.pair()
        bench.connect()
        // Valid for an hour, held back by the broker.
        let payload = try bench.authority.seal(
            .provision(try bench.authority.provision()), claim: claim)
        bench.pass(.seconds(age + 1))
        let effects = bench.handle(.inbox(payload))
        #expect(try bench.sent(effects).map(\.body.name) == ["rejected"])
        #expect(try bench.store.load().session == nil)
        #expect(try bench.store.load().claim != nil)
        // Nor by a clock that was set back: the authority has given it up.
        bench.wall = bench.wall - .seconds(age + 1)
        #expect(bench.handle(.inbox(payload)).states.isEmpty)
        #expect(try bench.store.load().session == nil)
    }

    @Test("never overflows", arguments: [0, 253_402_300_799_000] as [Int64])
    func extremes(milliseconds: Int64) throws {
        var bench = try settled()
        bench.wall = Timestamp(milliseconds: milliseconds)
        try bench.restart()
        bench.handle(.started)
        bench.connect()
        bench.run(for: .seconds(400_000))
        #expect(try bench.store.load().session != nil)
    }
}

@Suite("Deadlines")
struct DeadlineTests {
    private func offline(_ own: Duration?, _ end: Timestamp?) throws -> Bench {
        var bench = try Bench()
        bench.settings.offline = own
        try bench.restart()
        bench.handle(.started)
        bench.handle(.busConnected(resumed: false))
        let claim = try bench.pair()
        bench.connect()
        var provision = try bench.authority.provision()
        provision.session.expiresAt = end
        bench.handle(.inbox(try bench.authority.seal(.provision(provision), claim: claim)))
        bench.handle(.uplink(.lost("gone")))
        return bench
    }

    @Test("are the earliest of the session's end, the authority's grace and the board's own",
          arguments: [
            (nil, nil, 7200, "offline"), (3600, nil, 3600, "offline"),
            (90_000, nil, 7200, "offline"), (nil, 1800, 1800, "expired"),
            (600, 1800, 600, "offline"), (nil, 86_400, 7200, "offline"),
          ] as [(Int64?, Int64?, Int64, String)])
    func earliest(own: Int64?, end: Int64?, after: Int64, state: String) throws {
        var bench = try offline(
            own.map { .seconds($0) }, end.map { Bench.start + .seconds($0) })
        #expect(bench.run(for: .seconds(after - 1)).states.isEmpty)
        #expect(bench.run(for: .seconds(2)).states == [state])
        #expect(try bench.store.load().session != nil)
    }

    @Test("past the grace reading stops, writes wait, and a contact brings all back")
    func grace() throws {
        var bench = try offline(.seconds(600), nil)
        bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        let ended = bench.run(for: .seconds(601))
        #expect(ended.states == ["offline"])
        #expect(ended.reading == [false])
        // What was on its way when reading stopped is kept, not refused.
        let late = bench.handle(.bus([.write("thermo", "create/Reading", "2", response: "a")]))
        #expect(late.published("postern/app/thermo/a") == [Array("{\"seq\":2}".utf8)])
        let sent = try bench.sent(bench.connect())
        let back = try bench.answer(try #require(sent.last))
        #expect(back.states == ["available"])
        #expect(back.reading == [true])
        #expect(back.forwarded.last == "ann0000000")
    }

    @Test("past the grace at a start: nothing is read, nothing lost")
    func graceAtStart() throws {
        var bench = try offline(.seconds(600), nil)
        bench.pass(.seconds(700))
        try bench.restart()
        let effects = bench.handle(.started)
        #expect(effects.states == ["offline"])
        #expect(effects.reading == [false])
    }

    @Test("past the session's end writes are refused, until the authority extends it")
    func extended() throws {
        var bench = try offline(nil, Bench.start + .seconds(600))
        bench.run(for: .seconds(601))
        let refused = bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
        #expect(try refused.codes(of: "thermo") == [209])
        let sent = try bench.sent(bench.connect())
        let effects = try bench.answer(try #require(sent.last)) { result in
            result.session?.expiresAt = Bench.start + .seconds(9000)
        }
        #expect(effects.states == ["available"])
    }

    @Test("a session without an end lasts, as long as there is contact")
    func endless() throws {
        var bench = try offline(nil, nil)
        for _ in 0..<50 {
            for message in try bench.sent(bench.connect()) where message.body.name != "accepted" {
                if message.body.name == "authenticate" { try bench.answer(message) }
            }
            bench.handle(.uplink(.lost("gone")))
            #expect(!bench.run(for: .seconds(7000)).states.contains("offline"))
        }
    }
}
