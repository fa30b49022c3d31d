import AgentCore
import Gate
import Sessions
import Testing
import Wire

/// The authority's clock is the truth here, and the board's is skewed.
@Suite("Exact time")
struct ExactClockTests {
    private struct Fixture {
        var bench: Bench
        let began: Duration
        /// How many millionths the authority's clock is faster than the board's.
        var drift = 0
        var step = Duration.zero

        static let truth = Timestamp(milliseconds: 1_800_000_000_437)

        init(skew: Duration) throws {
            bench = try Bench()
            bench.wall = Self.truth + skew
            began = bench.monotonic
        }

        var truth: Timestamp {
            let span = bench.monotonic - began
            return Self.truth + span + span * drift / 1_000_000 + step
        }

        /// Claims the board and returns its first heartbeat.
        mutating func claim() throws -> BoardMessage {
            bench.handle(.started)
            bench.handle(.busConnected(resumed: false))
            let claim = try bench.pair()
            bench.connect()
            let effects = bench.handle(.inbox(try bench.authority.seal(
                .provision(try bench.authority.provision(at: truth)), claim: claim, at: truth)))
            return try #require(try bench.sent(effects).last)
        }

        mutating func nextHeartbeat() throws -> BoardMessage {
            bench.pass(.seconds(200))
            return try #require(
                try bench.sent(bench.handle(.deadline)).first { $0.body.name == "authenticate" })
        }

        /// Answers a request after a way there and a way back.
        mutating func answer(
            _ message: BoardMessage, _ there: Int, _ back: Int
        ) throws {
            bench.pass(.milliseconds(there))
            let stamp = truth
            bench.pass(.milliseconds(back))
            try bench.answer(message, now: stamp)
        }

        /// How far `ts` of a write is from the truth, in milliseconds.
        mutating func error() throws -> Int64 {
            bench.handle(.bus([.write("thermo", "create/Reading", "1")]))
            let write = try #require(bench.store.writes.last)
            return write.acceptedAt.milliseconds - truth.milliseconds
        }
    }

    @Test("comes from a reply and half of the round trip, however wrong the board's clock is",
          arguments: [90_000, -259_200_000, 500, -500, 250, -60, 0] as [Int64])
    func skew(milliseconds: Int64) throws {
        var board = try Fixture(skew: .milliseconds(milliseconds))
        try board.answer(try board.claim(), 100, 100)
        #expect(try board.error() == 0)
        board.bench.pass(.seconds(60))
        #expect(try board.error() == 0)
    }

    @Test("leaves a clock alone that agrees with the reply to a few milliseconds")
    func agreement() throws {
        var board = try Fixture(skew: .milliseconds(3))
        try board.answer(try board.claim(), 100, 100)
        #expect(try board.error() == 3)
    }

    @Test("is off by half of the round trip at most", arguments: [(200, 0), (0, 200), (30, 170)])
    func asymmetry(there: Int, back: Int) throws {
        var board = try Fixture(skew: .seconds(90))
        try board.answer(try board.claim(), there, back)
        #expect(abs(try board.error()) == Int64(abs(there - back) / 2))
    }

    @Test("is that of the shortest round trip")
    func shortest() throws {
        var board = try Fixture(skew: .seconds(90))
        try board.answer(try board.claim(), 300, 0)
        #expect(try board.error() == 150)
        try board.answer(try board.nextHeartbeat(), 4, 4)
        #expect(try board.error() == 0)
        try board.answer(try board.nextHeartbeat(), 0, 400)
        #expect(try board.error() == 0)
    }

    @Test("follows a drift of the board's clock", arguments: [100, -100])
    func drift(millionths: Int) throws {
        var board = try Fixture(skew: .seconds(90))
        board.drift = millionths
        try board.answer(try board.claim(), 2, 2)
        for _ in 0..<12 {
            let heartbeat = try board.nextHeartbeat()
            #expect(abs(try board.error()) <= 50)
            try board.answer(heartbeat, 10, 10)
        }
    }

    @Test("follows a step of the authority's clock, whatever the round trip")
    func step() throws {
        var board = try Fixture(skew: .zero)
        try board.answer(try board.claim(), 1, 1)
        for step in [Duration.seconds(10), .seconds(-20)] {
            board.step = step
            try board.answer(try board.nextHeartbeat(), 100, 100)
            #expect(try board.error() == 0)
        }
    }

    @Test("is the reply's own where the reply has whole seconds")
    func wholeSeconds() throws {
        var board = try Fixture(skew: .seconds(90))
        let message = try board.claim()
        board.bench.pass(.milliseconds(200))
        var result = Reply.Result()
        let held = try #require(try board.bench.store.load().session)
        (result.session, result.user) = (held.session, held.user)
        let reply = Reply(
            re: message.id, now: board.truth, outcome: .result(result), isExact: false)
        board.bench.handle(.inbox(try board.bench.authority.seal(.reply(reply), at: board.truth)))
        #expect(try board.error() == -board.truth.milliseconds % 1000)
    }

    @Test("is not made worse by the reply to a request that was sent twice")
    func repeated() throws {
        var board = try Fixture(skew: .seconds(90))
        try board.answer(try board.claim(), 2, 2)
        for _ in 0..<2 {
            let heartbeat = try board.nextHeartbeat()
            let again = try board.bench.sent(board.bench.run(for: .seconds(30)))
            #expect(again.contains { $0.id == heartbeat.id })
            try board.answer(heartbeat, 0, 5000)
            #expect(abs(try board.error()) <= 1)
        }
    }
}
