import Foundation
import Gate
import Sessions

/// What a decision costs, and what it costs to look into a payload.
///
/// Ends with 1 if the path without field rules allocates; times are shown, and fail nothing.
@main
struct GateBenchmark {
    static func main() throws {
        let effort: Effort = CommandLine.arguments.contains("--short") ? .short : .full
        var isClean = try decisions(effort)
        isClean = try routes(effort) && isClean
        try payloads(effort)
        guard isClean else {
            print("\nFAILED: a decision without field rules allocates")
            exit(1)
        }
    }

    /// Returns whether nothing was allocated.
    private static func decisions(_ effort: Effort) throws -> Bool {
        let table = Table("one decision", ["ns, median", "ns, best", "allocations"])
        var isClean = true
        for count in [10, 100, 1000, 10_000] {
            let rules = try Rules(count: count)
            let cost = Measurement(effort, operations: 200_000 / effort.share) { number in
                allowed(rules.gate.decide(rules.writes[number & 1023]))
            }
            table.row("\(count) rules", figures(cost))
            isClean = isClean && cost.allocations == 0
        }
        let rules = try Rules(count: 1000, hasRates: true)
        var limiter = RateLimiter()
        var now = Duration.zero
        let cost = Measurement(effort, operations: 200_000 / effort.share) { number in
            let write = rules.writes[number & 1023]
            guard case .allow = rules.gate.decide(write) else { return 0 }
            now += .microseconds(100)
            return limiter.admit(write.app, rules.gate.rates(of: write), at: now) == nil ? 1 : 0
        }
        table.row("1000 rules, two rates", figures(cost))
        return isClean && cost.allocations == 0
    }

    private static func routes(_ effort: Effort) throws -> Bool {
        let table = Table("a topic to its decision", ["ns, median", "ns, best", "allocations"])
        let rules = try Rules(count: 1000)
        let payload = rules.writes[0].payload
        var isClean = true
        for count in [10, 100, 1000] {
            let routes = Routes(count: count)
            let cost = Measurement(effort, operations: 100_000 / effort.share) { number in
                let entry = routes.table.entry(of: routes.topics[number % routes.topics.count])
                guard case .write(let routed) = entry else { return 0 }
                let write = Write(
                    app: routed.app, className: routed.className, operation: routed.operation,
                    payload: payload)
                return allowed(rules.gate.decide(write))
            }
            table.row("\(count) routes, 1000 rules", figures(cost))
            isClean = isClean && cost.allocations == 0
        }
        return isClean
    }

    private static func payloads(_ effort: Effort) throws {
        let table = Table(
            "one payload's fields",
            ["bytes", "MB/s", "MB/s, best", "ns", "allocations", "x decoder", "x objects"],
            width: 20)
        for sample in try Sample.all() {
            let operations = max(20, 20_000_000 / effort.share / sample.payload.count / 10)
            let cost = Measurement(effort, operations: operations) { _ in
                sample.rules.fault(in: sample.payload, of: .create) == nil ? 1 : 0
            }
            guard sample.rules.fault(in: sample.payload, of: .create) == nil else {
                print("  \(sample.name): the sample is refused")
                continue
            }
            let data = Data(sample.payload)
            let decoder = JSONDecoder()
            let decoded = Measurement(effort, operations: max(5, operations / 10)) { _ in
                (try? decoder.decode([String: Unread].self, from: data)) == nil ? 0 : 1
            }
            let read = Measurement(effort, operations: max(5, operations / 10)) { _ in
                (try? JSONSerialization.jsonObject(with: data)) == nil ? 0 : 1
            }
            table.row(sample.name, [
                "\(sample.payload.count)",
                (Double(sample.payload.count) * 1000 / cost.median).text(0),
                (Double(sample.payload.count) * 1000 / cost.best).text(0),
                cost.median.text(0), cost.allocations.text(cost.allocations < 10 ? 1 : 0),
                (decoded.median / cost.median).text(1), (read.median / cost.median).text(1),
            ])
        }
        print("  (x: times as fast as Foundation's JSONDecoder, which keeps nothing here, and")
        print("  its JSONSerialization, over the same bytes in this run)")
    }

    private static func figures(_ cost: Measurement) -> [String] {
        [cost.median.text(0), cost.best.text(0), cost.allocations.text(2)]
    }

    private static func allowed(_ decision: Decision) -> Int {
        if case .allow = decision { 1 } else { 0 }
    }
}

/// A value that the decoder finds, and nobody reads.
private struct Unread: Decodable {
    init(from decoder: any Decoder) {}
}
