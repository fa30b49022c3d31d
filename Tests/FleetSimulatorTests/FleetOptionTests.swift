import Testing
@testable import FleetSimulator

@Suite("Simulated faults")
struct FaultPlanTests {
    @Test("are read from one option")
    func whole() throws {
        let plan = try #require(FaultPlan(
            argument: "lost-replies=5%,replays=0.5%,storm=60s:50%,skew=1%,thieves=20"))
        #expect(plan.lostReplies == 0.05)
        #expect(plan.replays == 0.005)
        #expect(plan.storm == FaultPlan.Storm(every: .seconds(60), share: 0.5))
        #expect(plan.skew == 0.01)
        #expect(plan.thieves == 20)
    }

    @Test("cut all connections where a storm names no share")
    func wholeStorm() {
        #expect(FaultPlan(argument: "storm=2m")?.storm?.share == 1)
    }

    @Test("are refused where they say anything else", arguments: [
        "", "thieves", "thieves=", "thieves=-1", "thieves=2%", "skew=1", "skew=101%", "skew=-1%",
        "skew=1e1%", "skew=.5%", "skew=1.%", "storm=0s", "storm=60", "storm=60s:", "storm=60s:1",
        "storm=60s:50%:1%", "lost-replies=5%,lost-replies=6%", "replays=5%,", "fire=1",
        "skew=1%=2%",
    ])
    func wrong(text: String) {
        #expect(FaultPlan(argument: text) == nil)
    }
}

@Suite("A telemetry rate")
struct TelemetryRateTests {
    @Test("is the fleet's, or each board's", arguments: [
        ("500/s", 1000, Duration.seconds(2)), ("0.5/s/board", 1000, .seconds(2)),
        ("4/s", 2, .milliseconds(500)), ("10/s/board", 7, .milliseconds(100)),
    ])
    func intervals(text: String, boards: Int, expected: Duration) {
        #expect(TelemetryRate(argument: text)?.interval(boards: boards) == expected)
    }

    @Test("of nothing sends nothing")
    func none() throws {
        let rate = try #require(TelemetryRate(argument: "0/s"))
        #expect(rate.interval(boards: 10) == nil)
    }

    @Test("is refused where it is none", arguments: [
        "", "5", "5/m", "5/s/house", "-5/s", "x/s", "5/s/board/", "1e3/s", "2000000/s",
    ])
    func wrong(text: String) {
        #expect(TelemetryRate(argument: text) == nil)
    }
}

@Suite("Seeded chance")
struct SeededRandomTests {
    @Test("is the same for the same seed, and another for another")
    func seeds() {
        var (one, same) = (SeededRandom(seed: 7), SeededRandom(seed: 7))
        var other = SeededRandom(seed: 8)
        let words = (0..<8).map { _ in one.next() }
        #expect(words == (0..<8).map { _ in same.next() })
        #expect(words != (0..<8).map { _ in other.next() })
    }

    @Test("picks so many different ones, and no more than there are", arguments: [0, 1, 5, 20])
    func picks(number: Int) {
        var random = SeededRandom(seed: 3)
        let picked = random.pick(number, below: 10)
        #expect(picked.count == min(number, 10))
        #expect(Set(picked).count == picked.count)
        #expect(picked.allSatisfy { (0..<10).contains($0) })
    }

    @Test("stays within its span")
    func spans() {
        var random = SeededRandom(seed: 1)
        let spans = (0..<1000).map { _ in random.within(.seconds(30)) }
        #expect(spans.allSatisfy { $0 >= .zero && $0 < .seconds(30) })
        #expect(spans.count { $0 < .seconds(15) } > 400)
    }
}

@Suite("What is due")
struct DueQueueTests {
    @Test("comes by its time, and not before")
    func order() {
        var queue = DueQueue()
        for (token, second) in [5, 1, 4, 2, 3].enumerated() {
            queue.add(token, at: .seconds(second))
        }
        var taken: [Int] = []
        while let entry = queue.take(at: .seconds(3)) { taken.append(entry.token) }
        #expect(taken == [1, 3, 4])
        #expect(queue.next == .seconds(4))
    }

    @Test("is nothing where nothing was added")
    func empty() {
        var queue = DueQueue()
        #expect(queue.next == nil)
        #expect(queue.take(at: .seconds(1 << 40)) == nil)
    }
}
