@testable import AdminCommands
import Cryptography
import LinuxIO
import MQTT
import Sessions
import Testing
import Wire

@Suite("A part of a simulated fleet")
struct FleetShardTests {
    private func shard(boards: Int) throws -> FleetShard {
        let plan = FleetPlan(
            boards: boards, connections: boards, root: .standard,
            uri: try BrokerURI("mqtt://127.0.0.1"), tls: TLSOptions(),
            wall: { Timestamp(milliseconds: 0) })
        let made = try (0..<boards).map { number in
            try FleetBoard(under: .standard, seed: UInt64(number))
        }
        return try FleetShard(
            plan, boards: made, connections: boards, seed: 1, post: FleetPost(),
            book: TelemetryBook())
    }

    @Test("has who waits for the next try come sooner once the load is over")
    func hasten() throws {
        let shard = try shard(boards: 2)
        let now = SystemClock.monotonic
        shard.lines[0].retryAt = now + .seconds(3000)
        shard.hasten()
        let sooner = try #require(shard.lines[0].retryAt)
        #expect(sooner > now && sooner <= now + .seconds(1001))
        #expect(shard.lines[1].retryAt == nil)
    }

    @Test("is at rest where nothing is on its way and who lives is connected")
    func rest() {
        #expect(FleetStanding(alive: 5, over: 1).isAtRest)
        #expect(!FleetStanding(alive: 5, stranded: 1).isAtRest)
        #expect(!FleetStanding(alive: 5, unsettled: 1).isAtRest)
    }

    @Test("gives a thief another board where its own's session ended before it struck",
          arguments: [false, true])
    func passedOn(hasStruck: Bool) throws {
        let shard = try shard(boards: 3)
        shard.isWorking = true
        shard.boards[0].phase = .over
        var thief = FleetThief(strikeAt: .seconds(1))
        if hasStruck { thief.id = try SimulatedBoard.newID() }
        shard.boards[0].thief = thief
        // The second has spent no token yet.
        (shard.boards[1].phase, shard.boards[2].phase) = (.alive, .alive)
        shard.boards[2].spent = RefreshToken("rt:0")
        let moment = shard.moment
        shard.passOn(thiefOf: 0, at: moment)
        #expect((shard.boards[0].thief == nil) == !hasStruck)
        #expect(shard.boards[1].thief == nil)
        let due = shard.boards[2].thief?.strikeAt
        #expect(due == (hasStruck ? nil : moment.now + .seconds(1)))
    }

    @Test("expects the end of a connection that a new password replaces, and of no other",
          arguments: [(true, true, true), (false, true, false), (true, false, false)])
    func outdated(byClaim: Bool, hasPassword: Bool, isOutdated: Bool) throws {
        var board = try FleetBoard(under: .standard, seed: 1)
        let line = FleetLine(boards: [0], clientID: "x")
        (line.phase, line.showsClaim) = (.open, byClaim)
        #expect(!line.isOutdated(for: board))
        let key = try X25519PrivateKey()
        board.base.life = SimulatedBoard.Life(
            session: try #require(ObjectID("bbbbbbbbbb")),
            sessionToken: try #require(SessionToken("r:s")),
            refreshToken: try #require(RefreshToken("rt:0")),
            accessToken: try #require(AccessToken("a")), heartbeat: .seconds(60),
            sealKey: key.publicKey.keyID,
            authority: try HPKE.Correspondence(own: key, peer: key.publicKey),
            brokerPassword: hasPassword ? SecretBytes(Array("new".utf8)) : nil)
        #expect(line.isOutdated(for: board) == isOutdated)
        line.phase = .connecting
        #expect(!line.isOutdated(for: board))
    }
}
