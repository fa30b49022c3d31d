import Gate
import Sessions
import Testing

@Suite("Route's properties")
struct RoutePropertyTests {
    private static let froms = [
        "in/+", "in/+/+", "in/#", "in/+/#", "+/x/+", "in/+/b/+/#", "in",
    ]
    private static let classes = ["Reading", "{1}", "{2}", "_User", "_Session"]
    private static let objectIDs = ["r", "{1}", "{2}-{1}", "{1}{1}{1}"]
    private static let tos = [
        "{data}", "{data}/{1}", "{data}/a/{2}/{1}", "{1}", "{1}/{2}", "{2}", "home/{1}",
        "postern/{1}/x", "postern/{1}", "{1}/v1/{2}", "{1}{2}", "x{1}", "$SYS/{1}", "/{1}",
        "postern/v1/{1}",
    ]
    private static let levels = [
        "a", "", "_User", "_Session", "_Role", "_Join", "Reading", "postern", "v1", "app",
        "session", "$SYS", "$share", "x", "b", "{data}", "{1}", "é", "\u{301}", "a b",
        String(repeating: "l", count: 100), "data", "..",
    ]

    private static func route(using random: inout SeededGenerator) -> Route? {
        guard let from = froms.randomElement(using: &random).flatMap(TopicFilter.init),
            let app = AppName("zigbee"), let operation = GateOperation.allCases
                .randomElement(using: &random)
        else { return nil }
        let isPlain = Int.random(in: 0..<4, using: &random) == 0
        // What is refused at once is no route to try.
        return try? Route(
            RouteDeclaration(
                from: from, app: app,
                className: classes.randomElement(using: &random) ?? "", operation: operation,
                objectID: operation == .create ? nil : objectIDs.randomElement(using: &random),
                to: isPlain ? nil : tos.randomElement(using: &random)),
            line: 1, reserved: reservedTopics)
    }

    private static func topic(using random: inout SeededGenerator) -> String {
        let depth = Int.random(in: 0...5, using: &random)
        let head = Int.random(in: 0..<6, using: &random) == 0
            ? levels.randomElement(using: &random) ?? "" : "in"
        return ([head] + (0..<depth).map { _ in levels.randomElement(using: &random) ?? "" })
            .joined(separator: "/")
    }

    /// What a message comes to, and the gate's word on it under a scope that grants all topics.
    private func expectConfined(_ write: NamedWrite, of topic: String) throws {
        let all = Scope(
            allowsByDefault: true, rules: [],
            topics: ["#", "$SYS/#", "postern/#"].compactMap(TopicFilter.init))
        let asked = Write(
            app: write.app, className: write.className, operation: write.operation, payload: [],
            destination: write.destination)
        let verdict = text(Gate(policy: nil, scope: all).decide(asked))
        #expect(verdict.hasPrefix("ok") == !write.className.isReserved, "\(topic)")
        #expect(write.app.description == "zigbee")
        #expect((write.record == nil) == (write.operation == .create))
        guard case .elsewhere(let destination)? = write.destination else { return }
        #expect((1...256).contains(destination.utf8.count))
        #expect(!destination.hasPrefix("$"), "\(topic)")
        #expect(!destination.utf8.contains { $0 == 0 || "+#".utf8.contains($0) })
        #expect(!reservedTopics.contains { $0.matches(destination) }, "\(topic): \(destination)")
        #expect(text(Gate(policy: nil, scope: nil).decide(asked)).hasPrefix("119"))
    }

    @Test("hold for every topic: no protected class passes, none leads under the root",
        arguments: 0..<100)
    func confined(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var writes = 0
        while writes < 40 {
            guard let route = Self.route(using: &random) else { continue }
            let table = RouteTable([route])
            for _ in 0..<20 {
                let topic = Self.topic(using: &random)
                let entry = table.entry(of: topic)
                #expect((entry == nil) == (!route.from.matches(topic) || topic.hasPrefix("$")))
                if case .write(let write)? = entry {
                    try expectConfined(write, of: topic)
                    writes += 1
                }
            }
        }
    }
}
