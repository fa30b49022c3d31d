import Gate
import Sessions
import Testing
import Wire

@testable import AgentCore

@Suite("Key of a write")
struct WriteKeyTests {
    private func board() throws -> Bench {
        var bench = try Bench()
        try bench.provision()
        return bench
    }

    private func write(
        _ payload: String, _ key: String, packet: UInt16? = nil, app: String = "thermo",
        path: String = "create/Reading"
    ) -> BusMessage {
        .write(app, path, payload, packet: packet, response: "a", key: .key(key))
    }

    /// The answers of these effects: a `seq`, or a negative code.
    private func answers(_ effects: [AgentEffect], app: String = "thermo") throws -> [Int64?] {
        try effects.published("postern/app/\(app)/a").map {
            let body = try JSONObject(parsing: $0)
            return try body.optional("seq", \.asInteger) ?? -body.integer("code")
        }
    }

    @Test("gets the first answer each time, and is stored once")
    func repeated() throws {
        var bench = try board()
        for round in 0..<20 {
            let effects = bench.handle(.bus([write("1", "k", packet: UInt16(round + 1))]))
            #expect(try answers(effects) == [1])
            #expect(effects.commits.isEmpty == (round > 0))
            bench.pass(.seconds(20))
        }
        #expect(bench.store.writes.map(\.sequence) == [1])
        #expect(bench.store.keys.map(\.sequence) == [1])
    }

    @Test("counts whatever payload, class and operation come with it")
    func other() throws {
        var bench = try board()
        bench.handle(.bus([write("1", "k")]))
        for message in [
            write("2", "k"), write("1", "k", path: "create/Other"),
            write("1", "k", path: "delete/Reading/x"),
        ] { #expect(try answers(bench.handle(.bus([message]))) == [1]) }
        #expect(bench.store.writes.count == 1)
    }

    @Test("belongs to its app alone")
    func apps() throws {
        var bench = try board()
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [1])
        let other = bench.handle(.bus([write("1", "k", app: "therm")]))
        #expect(try answers(other, app: "therm") == [2])
        // "therm" with the key "ok" is not "thermo" with the key "k".
        let near = bench.handle(.bus([write("1", "ok", app: "therm")]))
        #expect(try answers(near, app: "therm") == [3])
    }

    @Test("is known although another app gives thousands, also after a restart")
    func otherApp() throws {
        var bench = try board()
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [1])
        for start in stride(from: 0, to: 5000, by: 500) {
            bench.handle(.bus((start..<start + 500).map { write("1", "\($0)", app: "rogue") }))
        }
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [1])
        try bench.restart()
        bench.handle(.started)
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [1])
    }

    @Test("that comes twice in one batch is answered after the batch is durable")
    func oneBatch() throws {
        var bench = try board()
        let effects = bench.handle(.bus([write("1", "k"), write("2", "l"), write("1", "k")]))
        #expect(try answers(effects) == [1, 2, 1])
        #expect(effects.commits.count == 1)
        let commit = effects.firstIndex { if case .commit = $0 { true } else { false } }
        let answer = effects.firstIndex { if case .publishBus = $0 { true } else { false } }
        #expect(try #require(commit) < #require(answer))
    }

    @Test("survives a restart, whatever became of its write and its session")
    func restart() throws {
        var bench = try board()
        bench.handle(.bus([write("1", "k", packet: 5)]))
        for _ in 0..<3 {
            try bench.restart()
            bench.handle(.started)
            // The broker has forgotten its session, and knows no packet any more.
            bench.handle(.busConnected(resumed: false))
            #expect(try answers(bench.handle(.bus([write("1", "k", packet: 1)]))) == [1])
        }
        bench.handle(.inbox(try bench.authority.seal(.revoked(
            sequence: 101, session: try #require(ObjectID("Session001")), reason: "revoked"))))
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [1])
        #expect(try answers(bench.handle(.bus([write("1", "new")]))) == [-209])
        #expect(bench.store.writes.count == 1)
    }

    @Test("is not kept of a refused write, which is judged again")
    func refused() throws {
        var bench = try Bench()
        bench.handle(.started)
        bench.handle(.busConnected(resumed: false))
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [-206])
        try bench.provision()
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [1])
        #expect(try answers(bench.handle(.bus([write("1", "l", path: "create/_User")])))
            == [-119])
        #expect(try answers(bench.handle(.bus([write("1", "l")]))) == [2])
    }

    @Test("has 1 to 64 bytes and is given once, else it is 105", arguments: [
        [""], [String(repeating: "k", count: 65)], [String(repeating: "é", count: 33)],
        ["k", "k"], ["k", "l"],
    ])
    func malformed(values: [String]) throws {
        var bench = try board()
        let stated = StatedKey(values)
        #expect(stated == .malformed)
        let message = BusMessage.write(
            "thermo", "create/Reading", "1", response: "a", key: stated)
        let effects = bench.handle(.bus([message]))
        let answer = try #require(effects.published("postern/app/thermo/a").first)
        let body = try JSONObject(parsing: answer)
        #expect(try body.integer("code") == 105)
        #expect(try body.string("rule") == "builtin:key")
        #expect(bench.store.writes.isEmpty)
    }

    @Test("of 64 bytes is read")
    func longest() {
        let key = String(repeating: "é", count: 32)
        #expect(StatedKey([key]) == .key(key))
        #expect(StatedKey([]) == .none)
    }

    @Test("ends after ten minutes")
    func ends() throws {
        var bench = try board()
        bench.handle(.bus([write("1", "k")]))
        bench.pass(.seconds(599))
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [1])
        // A repetition does not make it live longer.
        bench.pass(.seconds(3))
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [2])
        bench.pass(.seconds(300))
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [2])
    }

    @Test("lives for ten minutes more after a restart, whatever the clock says", arguments: [
        Timestamp(milliseconds: 60_000), Bench.start, Bench.start + .seconds(7200),
    ])
    func restartedClock(wall: Timestamp) throws {
        var bench = try board()
        bench.handle(.bus([write("1", "k")]))
        bench.pass(.seconds(500))
        // After a power cut the monotonic clock begins again.
        (bench.wall, bench.monotonic) = (wall, .seconds(60))
        try bench.restart()
        bench.handle(.started)
        bench.pass(.seconds(599))
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [1])
        bench.pass(.seconds(3))
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [2])
    }

    @Test("is not forgotten by a step of the clock while the agent runs", arguments: [
        -90 * 86_400, 3600, 90 * 86_400,
    ])
    func step(seconds: Int) throws {
        var bench = try board()
        bench.handle(.bus([write("1", "k")]))
        bench.wall = bench.wall + .seconds(seconds)
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [1])
    }

    @Test("is gone once another user claims the board")
    func anotherUser() throws {
        var bench = try board()
        bench.handle(.bus([write("1", "k")]))
        let claim = try bench.pair(fresh: true)
        let bob = try bench.authority.provision("bob", session: "Session002")
        bench.handle(.inbox(try bench.authority.seal(.provision(bob), claim: claim)))
        #expect(try answers(bench.handle(.bus([write("1", "k")]))) == [2])
        #expect(bench.store.writes.map(\.sequence) == [2])
    }

    @Test("of a route's message is its sender's own affair")
    func route() {
        #expect(BusMessage.write("thermo", "create/Reading", "1", key: .malformed).unasked.key
            == .none)
    }

    @Test("given again after a crash that left its write undurable keeps the write's number")
    func undurable() throws {
        var bench = try board()
        let changes = bench.handle(.bus([write("1", "k", packet: 5)])).commits.joined()
        let given = changes.flatMap { change -> [DeliveredPacket] in
            if case .append(_, let window, _) = change { window } else { [] }
        }.map {
            DeliveredPacket(
                packetID: $0.packetID, digest: $0.digest, sequence: $0.sequence + 40,
                isDurable: false)
        }
        // Neither the write nor its key was on disk.
        bench.store.commit([.destroyQueue])
        try bench.restart(after: 41, with: given)
        bench.handle(.started)
        // The local broker repeats the first, and then delivers the app's repetition.
        let messages = [write("1", "k", packet: 5), write("1", "k", packet: 6)]
        #expect(try answers(bench.handle(.bus(messages))) == [41, 41])
        #expect(bench.store.writes.map(\.sequence) == [41])
        bench.handle(.busConnected(resumed: true))
        #expect(bench.store.lost == [])
    }
}

@Suite("Keys of the last writes")
struct WriteKeysTests {
    /// Many of these digests share their low bits.
    @Test("are the newest 4,096, and for a while up to 511 more, as in a plain list")
    func oracle() {
        var keys = WriteKeys()
        var list: [(digest: UInt128, sequence: Int64)] = []
        func known(_ digest: UInt128) -> [Int64?] {
            [4096, 4607].map { limit in
                list.suffix(limit).last { $0.digest == digest }?.sequence
            }
        }
        var random: UInt64 = 1
        func draw(_ limit: UInt64) -> UInt64 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (random >> 33) % limit
        }
        for sequence in 1...Int64(13_000) {
            // 40 places, and some digests come again.
            let digest = UInt128(draw(200)) << 64 | UInt128(draw(40))
            list.append((digest, sequence))
            keys.remember(KeptKey(digest: digest, sequence: sequence), at: .zero)
            guard sequence % 97 == 0 || sequence > 12_990 else { continue }
            for place in 0..<UInt128(8) {
                let digest = UInt128(draw(200)) << 64 | place
                #expect(known(digest).contains(keys.sequence(of: digest, at: .zero)))
            }
        }
        for (digest, _) in list.suffix(4096) {
            #expect(keys.sequence(of: digest, at: .zero) == known(digest)[0])
        }
        #expect(keys.sequence(of: list[0].digest, at: .zero) == known(list[0].digest)[0])
    }

    @Test("of an app stay, however many another app gives")
    func shares() {
        var keys = WriteKeys()
        func key(_ app: UInt128, _ sequence: Int64) -> KeptKey {
            KeptKey(
                digest: KeptKey.digest(ofApp: app << 96, ofKey: UInt128(sequence)),
                sequence: sequence)
        }
        func known(_ app: UInt128, _ sequences: ClosedRange<Int64>) -> Int {
            sequences.count {
                keys.sequence(of: key(app, $0).digest, at: .zero) == $0
            }
        }
        for sequence in 1...Int64(100) { keys.remember(key(1, sequence), at: .zero) }
        for sequence in 101...Int64(3000) { keys.remember(key(2, sequence), at: .zero) }
        for sequence in 3001...Int64(20_000) { keys.remember(key(3, sequence), at: .zero) }
        #expect(known(1, 1...100) == 100)
        // The two that have many have the rest, each its newest.
        #expect(known(2, 1003...3000) == 1998 && known(2, 101...1002) == 0)
        #expect(known(3, 18_003...20_000) == 1998)
        #expect((3996...4507).contains(known(2, 101...3000) + known(3, 3001...20_000)))
    }

    @Test("are none at the beginning")
    func none() {
        #expect(WriteKeys().sequence(of: 0, at: .zero) == nil)
    }
}
