import Foundation
import Testing

@Suite("Random schedules")
struct RandomScheduleTests {
    /// `make test-all` sets POSTERN_LONG.
    private static let count = environment("POSTERN_LONG") == nil ? 500 : 10_000
    /// One schedule is told again with `POSTERN_LIFE_SEED=n`, in words.
    private static let only = environment("POSTERN_LIFE_SEED")
    private static let base = environment("POSTERN_LIFE_BASE") ?? 1

    private static func environment(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test("end in a state that both sides agree on", .timeLimit(.minutes(20)))
    func schedules() async throws {
        let clock = ContinuousClock()
        let start = clock.now
        let snapshots = try await Self.snapshots()
        if let seed = Self.only { return try await replay(seed, snapshots) }
        let shares = 4
        let sum = try await withThrowingTaskGroup(of: RandomSum.self) { group in
            for share in 0..<shares {
                group.addTask {
                    var sum = RandomSum()
                    for index in stride(from: share, to: Self.count, by: shares) {
                        let schedule = Schedule(seed: Self.base &* 1_000_000 &+ UInt64(index))
                        sum.add(schedule, try await Self.tell(schedule, snapshots))
                        if sum.failed.count > 4 { break }
                    }
                    return sum
                }
            }
            return try await group.reduce(RandomSum(), +)
        }
        for seed in sum.failed.prefix(4) { try await replay(seed, snapshots) }
        #expect(sum.failed.isEmpty, "seeds \(sum.failed)")
        print("random: \(sum.told) schedules, \(sum.steps) steps, \(sum.faults) faults, "
            + "\(sum.busiestMinute) messages in a minute at most, well again within "
            + "\(sum.longestMending.components.seconds) s, \(clock.now - start)")
    }

    private func replay(_ seed: UInt64, _ snapshots: [String: World.Snapshot]) async throws {
        let schedule = Schedule(seed: seed)
        let outcome = try await Self.tell(schedule, snapshots, isTracing: true)
        let acts = schedule.scenario.acts.map { "\($0.at) \($0.act)" }.joined(separator: "; ")
        let story = "\(schedule.scenario.beginning), \(schedule.scenario.length): \(acts)\n"
            + outcome.story
        if outcome.violations.isEmpty {
            print("seed \(seed) ends well\n\(story)")
        } else {
            Issue.record("POSTERN_LIFE_SEED=\(seed): \(outcome.violations)\n\(story)")
        }
    }

    private static func snapshots() async throws -> [String: World.Snapshot] {
        var snapshots: [String: World.Snapshot] = [:]
        for beginning in Schedule.beginnings {
            var scenario = Scenario.refresh
            scenario.beginning = beginning
            snapshots["\(beginning)"] = try await scenario.snapshot(.symbolic)
        }
        return snapshots
    }

    private static func tell(
        _ schedule: Schedule, _ snapshots: [String: World.Snapshot], isTracing: Bool = false
    ) async throws -> Outcome {
        let snapshot = try #require(snapshots["\(schedule.scenario.beginning)"])
        return try await schedule.scenario.tell(
            from: snapshot, schedule.plan, seed: schedule.seed, isTracing: isTracing)
    }
}

/// What many schedules came to.
private struct RandomSum: Sendable {
    var told = 0
    var steps = 0
    var faults = 0
    var failed: [UInt64] = []
    var busiestMinute = 0
    var longestMending = Duration.zero

    mutating func add(_ schedule: Schedule, _ outcome: Outcome) {
        told += 1
        steps += outcome.stepCount
        faults += outcome.struck.count
        busiestMinute = max(busiestMinute, outcome.busiestMinute)
        longestMending = max(longestMending, outcome.mending)
        if !outcome.violations.isEmpty { failed.append(schedule.seed) }
    }

    static func + (left: RandomSum, right: RandomSum) -> RandomSum {
        RandomSum(
            told: left.told + right.told, steps: left.steps + right.steps,
            faults: left.faults + right.faults, failed: left.failed + right.failed,
            busiestMinute: max(left.busiestMinute, right.busiestMinute),
            longestMending: max(left.longestMending, right.longestMending))
    }
}
