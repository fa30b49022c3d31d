import Testing

/// Faults at certain steps of one story.
struct Mishap: Sendable, CustomStringConvertible {
    let faults: [Int: Fault]

    var description: String {
        faults.sorted { $0.key < $1.key }.map { "\($0.value) at step \($0.key)" }
            .joined(separator: ", ")
    }
}

/// What many tellings of one story came to.
struct Sum: Sendable {
    var tellings = 0
    var steps = 0
    var failures: [(Mishap, [String])] = []
    var busiestMinute = 0
    var longestMending = Duration.zero

    mutating func add(_ mishap: Mishap, _ outcome: Outcome) {
        tellings += 1
        steps += outcome.stepCount
        busiestMinute = max(busiestMinute, outcome.busiestMinute)
        longestMending = max(longestMending, outcome.mending)
        if !outcome.violations.isEmpty { failures.append((mishap, outcome.violations)) }
    }

    var text: String {
        "\(tellings) tellings, \(steps) steps, at most \(busiestMinute) messages in a minute, "
            + "well again within \(longestMending.components.seconds) s"
    }

    static func + (left: Sum, right: Sum) -> Sum {
        Sum(
            tellings: left.tellings + right.tellings, steps: left.steps + right.steps,
            failures: left.failures + right.failures,
            busiestMinute: max(left.busiestMinute, right.busiestMinute),
            longestMending: max(left.longestMending, right.longestMending))
    }
}

extension Scenario {
    /// Every fault that can befall any step of the story as it goes under `mishap`, from the
    /// step after its last.
    func everyFault(
        after mishap: Mishap = Mishap(faults: [:]), from snapshot: World.Snapshot,
        only wanted: Set<Fault>? = nil
    ) async throws -> [Mishap] {
        let told = try await tell(from: snapshot, .at(mishap.faults), records: true)
        let last = mishap.faults.keys.max() ?? 0
        return told.steps.filter { $0.number > last }.flatMap { step in
            step.kind.faults.filter { wanted?.contains($0) ?? true }.map { fault in
                Mishap(faults: mishap.faults.merging([step.number: fault]) { $1 })
            }
        }
    }

    /// Tells the story under each of these, some at a time, and says what went wrong.
    func tellAll(_ mishaps: [Mishap], from snapshot: World.Snapshot) async throws -> Sum {
        let shares = 4
        let sum = try await withThrowingTaskGroup(of: Sum.self) { group in
            for share in 0..<shares {
                group.addTask {
                    var sum = Sum()
                    for index in stride(from: share, to: mishaps.count, by: shares) {
                        let mishap = mishaps[index]
                        sum.add(mishap, try await tell(from: snapshot, .at(mishap.faults)))
                    }
                    return sum
                }
            }
            return try await group.reduce(Sum(), +)
        }
        for (mishap, violations) in sum.failures.prefix(3) {
            let again = try await tell(from: snapshot, .at(mishap.faults), isTracing: true)
            Issue.record("\(name), \(mishap): \(violations)\n\(again.story)")
        }
        #expect(sum.failures.count <= 5, "\(name): \(sum.failures.count) stories end badly")
        return sum
    }
}

extension Outcome {
    /// What happened, for a person to read: all of it while things went wrong, and the end.
    var story: String {
        let told = trace.prefix(600).filter { !$0.hasPrefix(" ") }
        return (told + ["…"] + trace.suffix(40)).joined(separator: "\n")
    }
}
