import Gate
import Sessions
import Testing

/// The same numbers in each run: SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite("Gate's properties")
struct PropertyTests {
    private static let apps = ["a", "b", "c"].compactMap { AppName($0) }
    private static let classes = ["A", "B", "C", "_User", "_Session", "_Role", "_Join"]
        .compactMap { ClassName($0) }
    private static let payloads = [
        "", "{}", #"{"v":1}"#, #"{"v":"x"}"#, #"{"w":1}"#, "not JSON", #"{"v":1,"v":1}"#,
    ].map { Array($0.utf8) }

    private static func rule(
        _ id: RuleID, using random: inout SeededGenerator
    ) throws -> Rule {
        let fields: [String: FieldType]? = try
            switch Int.random(in: 0..<4, using: &random) {
            case 0: ["v": FieldType("number")]
            case 1: ["v": FieldType("any?"), "w": FieldType("integer?")]
            default: nil
            }
        return Rule(
            id: id, app: Bool.random(using: &random) ? nil : apps.randomElement(using: &random),
            className: Int.random(in: 0..<4, using: &random) == 0
                ? nil : classes.randomElement(using: &random),
            allow: Set(GateOperation.allCases.filter { _ in Bool.random(using: &random) }),
            fields: fields,
            maxBytes: Bool.random(using: &random)
                ? nil : ByteCount(bytes: .random(in: 0..<10, using: &random)),
            rate: nil)
    }

    private static func rules(
        using random: inout SeededGenerator, _ id: (Int) -> RuleID
    ) throws -> [Rule] {
        var rules: [Rule] = []
        for number in 0..<Int.random(in: 0..<6, using: &random) {
            rules.append(try rule(id(number + 1), using: &random))
        }
        return rules
    }

    private static func policy(using random: inout SeededGenerator) throws -> Policy {
        var limits: [AppName: AppLimit] = [:]
        for app in apps where Bool.random(using: &random) {
            limits[app] = AppLimit(maxBytes: ByteCount(bytes: .random(in: 0..<9, using: &random)))
        }
        return Policy(
            allowsByDefault: .random(using: &random), apps: limits,
            rules: try rules(using: &random) { .policy(line: $0) })
    }

    private static func scope(using random: inout SeededGenerator) throws -> Scope {
        Scope(
            allowsByDefault: .random(using: &random),
            rules: try rules(using: &random) { .scope($0) }, topics: [])
    }

    private static func allWrites() -> [Write] {
        apps.flatMap { app in
            classes.flatMap { name in
                GateOperation.allCases.flatMap { operation in
                    payloads.map {
                        Write(app: app, className: name, operation: operation, payload: $0)
                    }
                }
            }
        }
    }

    private static func allows(_ gate: Gate, _ write: Write) -> Bool {
        if case .allow = gate.decide(write) { true } else { false }
    }

    @Test("a file or a scope more never allows what was refused without", arguments: 1...150)
    func narrowing(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let policy = try Self.policy(using: &random)
        let scope = try Self.scope(using: &random)
        let bare = Gate(policy: nil, scope: nil)
        let policed = Gate(policy: policy, scope: nil)
        let scoped = Gate(policy: nil, scope: scope)
        let both = Gate(policy: policy, scope: scope)
        var wrong = 0
        for write in Self.allWrites() {
            let expected = Self.allows(bare, write) && Self.allows(policed, write)
                && Self.allows(scoped, write)
            if Self.allows(both, write) != expected { wrong += 1 }
            if Self.allows(policed, write), !Self.allows(bare, write) { wrong += 1 }
            if Self.allows(scoped, write), !Self.allows(bare, write) { wrong += 1 }
        }
        #expect(wrong == 0)
    }

    @Test("a protected or reserved class is refused under every input", arguments: 1...50)
    func protection(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &* 31)
        let gate = Gate(
            policy: try Self.policy(using: &random), scope: try Self.scope(using: &random))
        for write in Self.allWrites() where write.className.isReserved {
            guard case .deny(let rejection) = gate.decide(write) else {
                Issue.record("allowed \(write)")
                continue
            }
            #expect(rejection.code == .forbidden)
            #expect(rejection.rule.description.hasPrefix("builtin:"))
        }
    }

    @Test("the index finds the rule that a search in order finds", arguments: 1...150)
    func firstMatch(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &* 7)
        let policy = try Self.policy(using: &random)
        let gate = Gate(policy: policy, scope: nil)
        for write in Self.allWrites() where !write.className.isReserved {
            let first = policy.rules.first {
                ($0.app == nil || $0.app == write.app)
                    && ($0.className == nil || $0.className == write.className)
            }
            let id = first?.id ?? .policyDefault
            switch gate.decide(write) {
            case .allow(let rule): #expect(rule == id)
            case .deny(let rejection):
                #expect(rejection.rule == id || rejection.rule == .policyApp(write.app))
            }
        }
    }

    @Test("the layers' own verdicts explain the decision", arguments: 1...50)
    func explanation(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &* 13)
        let gate = Gate(
            policy: try Self.policy(using: &random), scope: try Self.scope(using: &random))
        for write in Self.allWrites() {
            let verdicts = gate.explain(write)
            let layersAllow = verdicts.dropLast().allSatisfy { verdict in
                if case .deny = verdict.decision { false } else { true }
            }
            #expect(layersAllow == Self.allows(gate, write))
            #expect(verdicts.last?.decision == gate.decide(write))
        }
    }
}
