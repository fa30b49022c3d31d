import AgentCore
import Gate
import Sessions
import Testing
import Wire

private func board(limit: Int64 = 100_000, reserve: Int64 = 10_000) throws -> Bench {
    var bench = try Bench()
    bench.settings.queueLimit = limit
    bench.settings.queueReserve = reserve
    try bench.restart()
    try bench.provision()
    return bench
}

private func state(_ bytes: Int64, lost: [ClosedRange<Int64>] = []) -> QueueState {
    var state = QueueState(messages: bytes / 100, bytes: bytes, oldest: Bench.start)
    state.losses.ranges = lost
    state.losses.total = lost.reduce(0) { $0 + Int64($1.count) }
    state.losses.causes[.full] = state.losses.total
    state.losses.drops["Reading"] = state.losses.total
    return state
}

@Suite("Full outbox")
struct FullOutboxTests {
    private static let asked = BusMessage.write("thermo", "create/Reading", "1", response: "a")
    private static let unasked = BusMessage.write("thermo", "create/Reading", "2")

    @Test("stops the reading with the reserve left, and resumes with an eighth free")
    func steering() throws {
        var bench = try board()
        #expect(bench.handle(.queue(state(90_000))).reading.isEmpty)
        #expect(bench.handle(.queue(state(90_001))).reading == [false])
        for bytes in [95_000, 90_000, 78_751] as [Int64] {
            #expect(bench.handle(.queue(state(bytes))).reading.isEmpty)
        }
        #expect(bench.handle(.queue(state(78_750))).reading == [true])
    }

    @Test("says so in the log once a minute at most")
    func said() throws {
        var bench = try board()
        var logs: [String] = []
        for _ in 0..<120 {
            bench.pass(.seconds(1))
            logs += bench.handle(.queue(state(95_000))).logs
            logs += bench.handle(.queue(state(0))).logs
        }
        #expect(logs.count { $0 == "not reading the bus: the outbox is full" } == 2)
        #expect(logs.count { $0 == "reading the bus again" } == 2)
    }

    @Test("answers 140 to those who asked, and takes the others into its reserve", arguments: [
        (90_000, nil, nil), (90_001, 140, nil), (99_000, 140, nil), (99_900, 140, 140),
        (250_000, 140, 140),
    ] as [(Int64, Int64?, Int64?)])
    func reserve(bytes: Int64, toAsked: Int64?, toUnasked: Int64?) throws {
        for (message, code) in [(Self.asked, toAsked), (Self.unasked, toUnasked)] {
            var bench = try board()
            bench.handle(.queue(state(bytes)))
            let effects = bench.handle(.bus([message]))
            #expect(bench.store.writes.count == (code == nil ? 1 : 0))
            let topic = message.responseTopic ?? "postern/app/thermo/rejected"
            let said = try effects.published(topic).map { try JSONObject(parsing: $0) }
            #expect(said.compactMap { $0.members["code"]?.asInteger } == [code].compactMap(\.self))
            if code != nil { #expect(try said.first?.string("rule") == "builtin:queue") }
        }
    }

    @Test("is never filled beyond its limit, whatever comes before it is read no more")
    func hostileBatch() throws {
        var bench = try board()
        bench.handle(.queue(state(89_000)))
        // Two batches of one turn: the loop has not told of the first when the second comes.
        let batch = (0..<100).map { index in
            BusMessage.write(
                "thermo", "create/Reading", String(repeating: "x", count: 300),
                response: index % 2 == 0 ? "a" : nil)
        }
        bench.handle(.bus(batch))
        bench.handle(.bus(batch))
        let size = bench.store.writes.reduce(0) { $0 + $1.payload.count }
        #expect(bench.store.writes.count > 10)
        #expect(89_000 + size <= 100_000)
        #expect(bench.agent.health(up: true, at: bench.instant).refused > 100)
    }

    @Test("counts nothing that the loop held back and sent without the disk")
    func heldBack() throws {
        var bench = try board()
        for _ in 0..<1000 {
            #expect(bench.handle(.bus([Self.asked, Self.unasked])).reading.isEmpty)
            bench.handle(.deadline)
        }
        #expect(bench.store.writes.count == 2000)
    }

    @Test("takes what was accepted already and only comes again")
    func redelivery() throws {
        var bench = try board()
        let message = BusMessage.write(
            "thermo", "create/Reading", "1", packet: 7, response: "a")
        bench.handle(.bus([message]))
        bench.handle(.queue(state(99_990)))
        bench.handle(.busLost)
        let again = bench.handle(.bus([message]))
        let answer = try JSONObject(parsing: try #require(
            again.published("postern/app/thermo/a").first))
        #expect(try answer.integer("seq") == 1)
        #expect(bench.store.writes.count == 1)
    }

    @Test("that drops its oldest is read into for ever")
    func dropping() throws {
        var bench = try Bench()
        bench.settings.dropsOldest = true
        try bench.restart()
        try bench.provision()
        #expect(bench.handle(.queue(state(150_000))).reading.isEmpty)
        bench.handle(.bus([Self.asked, Self.unasked]))
        #expect(bench.store.writes.count == 2)
    }
}

@Suite("Losses")
struct LossTests {
    private func told(_ effects: [AgentEffect]) -> [AnnouncedGaps] {
        effects.compactMap { effect in
            if case .publishStatus(_, let status) = effect { status.gaps } else { nil }
        }
    }

    @Test("are told upstream at once, then once a second, and by health")
    func announced() throws {
        var bench = try board()
        let first = bench.handle(.queue(state(500, lost: [3...5])))
        #expect(told(first) == [AnnouncedGaps(total: 3, ranges: [3...5])])
        bench.pass(.milliseconds(10))
        #expect(told(bench.handle(.queue(state(500, lost: [3...6])))).isEmpty)
        #expect(told(bench.handle(.queue(state(500, lost: [3...7])))).isEmpty)
        let later = bench.run(for: .seconds(6))
        #expect(told(later) == [AnnouncedGaps(total: 5, ranges: [3...7])])
        let health = try JSONObject(parsing: try #require(later.published(BusTopic.health).last))
        #expect(try health.integer("gaps") == 5)
        #expect(health.members["gapRanges"] == .array([.array([.integer(3), .integer(7)])]))
        #expect(try health.object("drops").integer("Reading") == 5)
        #expect(told(bench.run(for: .seconds(60))).isEmpty)
    }

    @Test("wait for the uplink, and are told when it is there")
    func offline() throws {
        var bench = try board()
        bench.handle(.uplink(.lost("TCP: gone")))
        #expect(told(bench.handle(.queue(state(500, lost: [3...5])))).isEmpty)
        #expect(told(bench.run(for: .milliseconds(500))).isEmpty)
        bench.run(for: .seconds(5))
        #expect(told(bench.connect()).last == AnnouncedGaps(total: 3, ranges: [3...5]))
        #expect(bench.agent.nextDeadline(at: bench.instant).map { $0 > bench.monotonic } ?? true)
    }

    @Test("are logged at the first, and then each time they have doubled")
    func logged() throws {
        var bench = try board()
        var logs: [String] = []
        for last in 1...100 as ClosedRange<Int64> {
            logs += bench.handle(.queue(state(500, lost: [1...last]))).logs
        }
        #expect(logs.count == 7)
        #expect(logs.first == "1 accepted messages in total will never arrive (1 full): "
            + "announced as gaps")
    }

    @Test("name 32 ranges and 64 classes at most")
    func bounded() throws {
        var bench = try board()
        var full = state(500)
        full.losses.ranges = (1...50).map { $0 * 10...$0 * 10 + 1 }
        full.losses.total = .max
        for index in 1...200 { full.losses.drops["Class\(index)"] = Int64(index) }
        full.dead = 4
        bench.handle(.queue(full))
        let health = bench.agent.health(up: true, at: bench.instant)
        #expect(health.gaps.ranges.count == 32)
        #expect(health.gaps.ranges.last == 500...501)
        let json = try JSONObject(parsing: health.payload)
        let drops = try json.object("drops")
        #expect(drops.members.count == 64)
        #expect(try drops.integer("Class200") == 200)
        #expect(try drops.integer("*") == Int64((1...137).reduce(0, +)))
        #expect(try json.integer("dead") == 4)
    }

    @Test("of a record by an older agent are read past")
    func oldRecord() throws {
        let memory = try BoardMemory(json: JSONObject(["floor": .integer(5), "gaps": .integer(9)]))
        #expect(memory == BoardMemory(floor: Timestamp(milliseconds: 5000)))
    }
}

@Suite("The local broker's queue")
struct BusBrokerTests {
    @Test("is told in health, and not where the broker says nothing")
    func health() throws {
        var bench = try board()
        func bus() throws -> JSONValue? {
            try JSONObject(parsing: bench.agent.health(up: true, at: bench.instant).payload)
                .members["bus"]
        }
        #expect(try bus() == nil)
        bench.handle(.busBroker(dropped: nil, stored: 40))
        #expect(try bus() == .object(["dropped": .null, "stored": .integer(40)]))
        bench.handle(.busBroker(dropped: 3, stored: nil))
        #expect(try bus() == .object(["dropped": .integer(3), "stored": .integer(40)]))
    }

    @Test("has dropped: said if the agent was away or did not read, at a growing pace")
    func drops() throws {
        var bench = try board()
        #expect(bench.handle(.busBroker(dropped: 0, stored: nil)).logs.isEmpty)
        #expect(bench.handle(.busBroker(dropped: 2, stored: nil)).logs.isEmpty)
        bench.handle(.queue(state(95_000)))
        bench.handle(.queue(state(0)))
        // It has rested since the broker last told.
        #expect(bench.handle(.busBroker(dropped: 5, stored: nil)).logs.count == 1)
        #expect(bench.handle(.busBroker(dropped: 9, stored: nil)).logs.isEmpty)
        bench.handle(.queue(state(95_000)))
        var count = 0
        for dropped in 10...109 as ClosedRange<Int64> {
            count += bench.handle(.busBroker(dropped: dropped, stored: nil)).logs.count
        }
        #expect(count == 6)
        // The broker began anew, and counts from nothing.
        #expect(bench.handle(.busBroker(dropped: 1, stored: nil)).logs.isEmpty)
    }

    @Test("has dropped while the agent was not running: said at its start")
    func before() throws {
        var bench = try board()
        #expect(bench.handle(.busBroker(dropped: 12, stored: nil)).logs.count == 1)
    }
}
