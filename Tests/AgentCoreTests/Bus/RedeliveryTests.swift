import AgentCore
import Gate
import Sessions
import Testing
import Wire

@Suite("Redelivery on the bus")
struct RedeliveryTests {
    private func board() throws -> Bench {
        var bench = try Bench()
        try bench.provision()
        return bench
    }

    private func write(_ payload: String, _ packet: UInt16) -> BusMessage {
        .write("thermo", "create/Reading", payload, packet: packet, response: "a")
    }

    private func sequence(_ effects: [AgentEffect]) throws -> Int64? {
        try effects.published("postern/app/thermo/a").last.map {
            try JSONObject(parsing: $0).integer("seq")
        }
    }

    @Test("keeps its seq and writes nothing, after a crash")
    func crash() throws {
        var bench = try board()
        bench.handle(.bus([write("1", 5), write("2", 6)]))
        try bench.restart()
        bench.handle(.started)
        let effects = bench.handle(.bus([write("1", 5)]))
        #expect(try sequence(effects) == 1)
        #expect(effects.commits.isEmpty)
        #expect(try sequence(bench.handle(.bus([write("2", 6)]))) == 2)
        bench.handle(.busConnected(resumed: true))
        #expect(try sequence(bench.handle(.bus([write("3", 7)]))) == 3)
        #expect(bench.store.writes.map(\.sequence) == [1, 2, 3])
    }

    @Test("of what a crash left without a word on disk is taken anew, under its own seq")
    func undurable() throws {
        var bench = try board()
        let changes = bench.handle(.bus([write("1", 5), write("2", 6)])).commits.joined()
        let packets = changes.flatMap { change -> [DeliveredPacket] in
            if case .append(_, let window, _) = change { window } else { [] }
        }
        let given = packets.map {
            DeliveredPacket(
                packetID: $0.packetID, digest: $0.digest, sequence: $0.sequence + 40,
                isDurable: false)
        }
        try bench.restart(after: 42, with: given)
        bench.handle(.started)
        #expect(try sequence(bench.handle(.bus([write("1", 5)]))) == 41)
        #expect(bench.store.writes.last?.sequence == 41)
        // The other does not come again: nobody has it any more.
        bench.handle(.busConnected(resumed: true))
        #expect(bench.store.lost == [42])
        #expect(try sequence(bench.handle(.bus([write("3", 7)]))) == 43)
    }

    /// A broker that lost its last minute in a power cut gives packet ids anew.
    @Test("is not seen where the answer is asked for anew")
    func askedAnew() throws {
        var bench = try board()
        bench.handle(.bus([write("on", 5)]))
        try bench.restart()
        bench.handle(.started)
        let message = BusMessage.write(
            "thermo", "create/Reading", "on", packet: 5, response: "b")
        let answer = bench.handle(.bus([message])).published("postern/app/thermo/b").last
        #expect(try JSONObject(parsing: try #require(answer)).integer("seq") == 2)
    }

    @Test("keeps its seq after a lost connection, over and over")
    func lost() throws {
        var bench = try board()
        bench.handle(.bus([write("1", 5)]))
        for round in 0..<4 {
            bench.handle(.busLost)
            #expect(try sequence(bench.handle(.bus([write("1", 5)]))) == 1)
            // Half of them are lost again before the SUBACK.
            if round % 2 == 0 { bench.handle(.busConnected(resumed: true)) }
        }
        #expect(bench.store.writes.count == 1)
    }

    @Test("is not seen in a packet id that comes round again with the same payload")
    func reused() throws {
        var bench = try board()
        for round in 0..<3 {
            #expect(try sequence(bench.handle(.bus([write("on", 5)]))) == Int64(round + 1))
        }
        bench.handle(.busLost)
        #expect(try sequence(bench.handle(.bus([write("on", 5)]))) == 3)
        bench.handle(.busConnected(resumed: true))
        #expect(try sequence(bench.handle(.bus([write("on", 5)]))) == 4)
        #expect(bench.store.writes.count == 4)
    }

    @Test("is not expected any more once a Receive Maximum has been delivered")
    func late() throws {
        var bench = try board()
        bench.handle(.bus([write("on", 5)]))
        try bench.restart()
        bench.handle(.started)
        // Reads and what is malformed count as well as writes.
        for packet in 6..<UInt16(6 + 1024) {
            bench.handle(.bus([.write("thermo", "get/session", "", packet: packet)]))
        }
        #expect(try sequence(bench.handle(.bus([write("on", 5)]))) == 2)
    }

    @Test("is not seen in what comes after the SUBACK")
    func subscribed() throws {
        var bench = try board()
        bench.handle(.bus([write("on", 5)]))
        bench.handle(.busLost)
        bench.handle(.busConnected(resumed: true))
        #expect(try sequence(bench.handle(.bus([write("on", 5)]))) == 2)
    }

    @Test("is another message when topic or payload differ")
    func different() throws {
        var bench = try board()
        bench.handle(.bus([write("1", 5), write("1", 6)]))
        bench.handle(.busLost)
        bench.handle(.busConnected(resumed: true))
        #expect(try sequence(bench.handle(.bus([write("2", 5)]))) == 3)
        let other = BusMessage.write(
            "thermo", "create/Other", "1", packet: 6, response: "a")
        #expect(try sequence(bench.handle(.bus([other]))) == 4)
    }

    @Test("cannot be where the broker has forgotten the session")
    func forgotten() throws {
        var bench = try board()
        bench.handle(.bus([write("1", 5)]))
        bench.handle(.busLost)
        let effects = bench.handle(.busConnected(resumed: false))
        #expect(effects.commits.joined().map(\.name) == ["clear window"])
        #expect(bench.store.window.isEmpty)
        #expect(try sequence(bench.handle(.bus([write("1", 5)]))) == 2)
    }

    @Test("of a durable write stays accepted, whatever has become of the session")
    func afterTheEnd() throws {
        var bench = try board()
        bench.handle(.bus([write("1", 5)]))
        bench.handle(.inbox(try bench.authority.seal(.revoked(
            sequence: 101, session: try #require(ObjectID("Session001")), reason: "revoked"))))
        try bench.restart()
        bench.handle(.started)
        #expect(try sequence(bench.handle(.bus([write("1", 5)]))) == 1)
        #expect(bench.store.writes.count == 1)
    }

    @Test("at QoS 0 there is none: each is a write")
    func qos0() throws {
        var bench = try board()
        for _ in 0..<2 { bench.handle(.bus([.write("thermo", "create/Reading", "1")])) }
        #expect(bench.store.writes.count == 2)
        #expect(bench.store.window.isEmpty)
    }

    @Test("a sequence number is never given twice, restarts and all")
    func sequences() throws {
        var bench = try board()
        for round in 0..<10 {
            for index in 0..<7 { bench.handle(.bus([write("\(round)-\(index)",
            UInt16(index + 1))])) }
            try bench.restart()
            bench.handle(.started)
            bench.handle(.busConnected(resumed: true))
        }
        #expect(bench.store.writes.map(\.sequence) == Array(1...70))
    }
}
