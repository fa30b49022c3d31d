import AgentCore
@testable import FleetSimulator
import MQTT
import Sessions
import Testing
import Wire

@Suite("A simulated board")
struct FleetBoardTests {
    private let heartbeats = RequestPace(heartbeat: .seconds(10), refresh: .seconds(86_400))
    private let refreshes = RequestPace(heartbeat: .seconds(86_400), refresh: .seconds(10))

    @Test("is paired once its first heartbeat was answered")
    func paired() throws {
        let bench = try FleetBench()
        #expect(bench.board.isPaired && bench.board.isConnected && bench.board.isSettled)
        #expect(bench.tally.heartbeats.asked == 1 && bench.tally.heartbeats.answered == 1)
        #expect(bench.tally.violations.count == 0)
    }

    @Test("asks at the pace of its load, and a heartbeat puts off no refresh")
    func pace() throws {
        var bench = try FleetBench()
        bench.begin(RequestPace(heartbeat: .seconds(1), refresh: .seconds(10)))
        for turn in 1...600 {
            for request in try bench.wake(after: .milliseconds(100)) {
                if case .refresh = request.body {
                    bench.hear(try bench.answer(request, token: "rt:\(turn)"))
                } else {
                    bench.hear(try bench.answer(request))
                }
            }
        }
        #expect((50...62).contains(bench.tally.heartbeats.answered))
        #expect((4...7).contains(bench.tally.refreshes.answered))
    }

    @Test("wants the same answer again where it did not see the first", arguments: [true, false])
    func lostReply(isSame: Bool) throws {
        var bench = try FleetBench(try #require(FaultPlan(argument: "lost-replies=100%")))
        bench.begin(heartbeats)
        let request = try #require(try bench.wake(after: .seconds(10)).first)
        let reply = try bench.answer(request)
        bench.hear(reply)
        #expect(bench.tally.lostReplies.injected == 1 && bench.board.isBusy)
        let again = try #require(try bench.wake(after: .seconds(11)).first)
        #expect(again.id == request.id && bench.tally.heartbeats.repeated == 1)
        bench.hear(isSame ? reply : try bench.answer(again))
        #expect(bench.tally.lostReplies.right == (isSame ? 1 : 0))
        #expect(bench.tally.lostReplies.wrong == (isSame ? 0 : 1))
        #expect(bench.tally.violations.count == (isSame ? 0 : 1))
        #expect(!bench.board.isBusy)
    }

    @Test("wants the same reply for an eavesdropper's copy, unless there was no time to look",
          arguments: [nil, .quota, .rateLimit] as [ErrorCode?])
    func replay(code: ErrorCode?) throws {
        var bench = try FleetBench(try #require(FaultPlan(argument: "replays=100%")))
        bench.begin(heartbeats)
        let request = try #require(try bench.wake(after: .seconds(10)).first)
        let reply = try bench.answer(request)
        bench.hear(reply)
        let copy = try #require(try bench.wake(after: .seconds(3)).first)
        #expect(copy.id == request.id && bench.tally.replays.injected == 1)
        bench.hear(try code.map { try bench.refusal(copy.id, $0) } ?? reply)
        #expect(bench.tally.replays.right == (code == nil ? 1 : 0))
        #expect(bench.tally.violations.count == (code == .quota ? 1 : 0))
    }

    @Test("waits where the authority has no time, and counts that as no answer")
    func overloaded() throws {
        var bench = try FleetBench()
        bench.begin(heartbeats)
        let request = try #require(try bench.wake(after: .seconds(10)).first)
        bench.hear(try bench.refusal(request.id, .rateLimit))
        #expect(bench.board.isPutOff && bench.board.isSettled)
        #expect(bench.tally.heartbeats.overloaded == 1 && bench.tally.heartbeats.answered == 1)
    }

    @Test("is settled after a load once the load's requests are answered")
    func ownRequest() throws {
        var bench = try FleetBench()
        bench.begin(heartbeats)
        let request = try #require(try bench.wake(after: .seconds(10)).first)
        bench.board.wind(at: bench.moment)
        #expect(!bench.board.isSettled)
        bench.hear(try bench.answer(request))
        #expect(bench.board.isSettled)
        let own = try bench.wake(after: .seconds(200))
        #expect(own.count == 1 && bench.board.isBusy && bench.board.isSettled)
    }

    /// A board with a thief, who has the first refresh token.
    private func robbed() throws -> (bench: FleetBench, theft: BoardMessage) {
        var bench = try FleetBench()
        bench.board.thief = FleetThief()
        bench.begin(refreshes)
        var said = try bench.wake(after: .seconds(15))
        let own = try #require(said.first { if case .refresh = $0.body { true } else { false } })
        bench.hear(try bench.answer(own, token: "rt:1"))
        bench.board.wind(at: bench.moment)
        said = try bench.wake(after: .seconds(1))
        let theft = try #require(said.first { if case .refresh = $0.body { true } else { false } })
        guard case .refresh(let token) = theft.body else { return (bench, theft) }
        #expect(token.reveal() == "rt:0" && theft.id != own.id)
        #expect(bench.tally.thefts.injected == 1 && !bench.board.isSettled)
        return (bench, theft)
    }

    @Test("hears that its thief was found, and the thief that it is over")
    func theft() throws {
        var (bench, theft) = try robbed()
        bench.hear(try bench.refusal(theft.id, .invalidSession))
        bench.hear(try bench.sealed(
            .revoked(sequence: 2, session: bench.session.objectID, reason: "reuse")))
        #expect(bench.tally.thefts.right == 1 && bench.tally.thievesTold == 1)
        #expect(bench.board.isOver && bench.board.isSettled)
        #expect(bench.tally.violations.count == 0)
    }

    @Test("finds a thief who gets new tokens")
    func robbedForGood() throws {
        var (bench, theft) = try robbed()
        bench.hear(try bench.answer(theft, token: "rt:9"))
        #expect(bench.tally.thefts.wrong == 1 && bench.tally.violations.count == 1)
    }

    @Test("without a thief finds a revocation for reuse wrong, and any other not", arguments: [
        ("reuse", 1), ("revoked", 0),
    ])
    func falseTheft(reason: String, violations: Int) throws {
        var bench = try FleetBench()
        bench.hear(try bench.sealed(
            .revoked(sequence: 2, session: bench.session.objectID, reason: reason)))
        #expect(bench.tally.violations.count == violations)
        #expect(bench.board.isOver && bench.board.endReason == reason)
    }

    @Test("restarts with a clock that is off, and is right once it was told the time")
    func clock() throws {
        var bench = try FleetBench()
        bench.board.restart(clockOff: .seconds(7200), at: bench.moment, &bench.tally)
        bench.connect()
        var said = try bench.wake(after: .zero)
        let wrong = try #require(said.last)
        #expect(wrong.issuedAt > bench.moment.wall + .seconds(7000))
        bench.hear(try bench.refusal(wrong.id, .validation))
        said = try bench.wake(after: .zero)
        let right = try #require(said.last)
        bench.hear(try bench.answer(right))
        #expect(bench.tally.clocks.right == 1 && !bench.board.isClockWrong)
        #expect(bench.tally.errors.count == 0 && bench.tally.violations.count == 0)
    }

    @Test("keeps its telemetry until the broker has it, over a cut")
    func telemetry() throws {
        var bench = try FleetBench(telemetry: .seconds(10))
        bench.begin(heartbeats)
        bench.now += .seconds(10)
        bench.board.wake(at: bench.moment, &bench.tally)
        let first = try #require(bench.published().first { $0.sequence != nil })
        #expect(first.message.topic.hasSuffix("/data/Simulated/create"))
        #expect(first.message.payload.count == 100)
        bench.board.connectionChanged(.lost("TCP: cut"), at: bench.moment, &bench.tally)
        #expect(bench.published().isEmpty && !bench.board.isSettled)
        bench.now += .seconds(2)
        bench.board.wake(at: bench.moment, &bench.tally)
        bench.connect()
        let again = try #require(bench.published().first { $0.sequence != nil })
        #expect(again.sequence == 1 && again.message.payload == first.message.payload)
        bench.board.acknowledged(1, 0, at: bench.moment, &bench.tally)
        #expect(bench.board.store.isEmpty)
        #expect(bench.book.count.made == 1 && bench.book.count.acknowledged == 1)
    }
}
