import CAllocations
import Glibc

/// What one operation costs.
struct Measurement {
    /// Nanoseconds an operation, of each round, sorted.
    let rounds: [Double]
    /// Allocations an operation, exact.
    let allocations: Double

    var best: Double { rounds.first ?? .nan }
    var median: Double { rounds.isEmpty ? .nan : rounds[rounds.count / 2] }

    /// Runs `operation` some times to warm up, then in rounds; it is given a rising number and
    /// returns one, so that no round is optimised away.
    init(_ effort: Effort, operations: Int, _ operation: (Int) -> Int) {
        var sum = 0
        for number in 0..<max(1, operations / 4) { sum &+= operation(number) }
        var rounds: [Double] = []
        rounds.reserveCapacity(effort.rounds)
        let before = allocations_so_far()
        for _ in 0..<effort.rounds {
            let start = Self.processorTime
            for number in 0..<operations { sum &+= operation(number) }
            let elapsed = Self.processorTime - start
            rounds.append(elapsed / Double(operations))
        }
        let made = allocations_so_far() - before
        keep(sum)
        self.rounds = rounds.sorted()
        allocations = Double(made) / Double(effort.rounds * operations)
    }

    /// In nanoseconds, of this thread alone: what else the machine does is not counted.
    private static var processorTime: Double {
        var time = timespec()
        guard unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0 else { return .nan }
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

/// How much is measured: all, or as much as continuous integration has time for.
struct Effort {
    let rounds: Int
    /// Scales the operations of a round.
    let share: Int

    static let full = Effort(rounds: 21, share: 1)
    static let short = Effort(rounds: 7, share: 5)
}

@inline(never)
@_optimize(none)
func keep(_ value: Int) {}
