package import Gate
import Sessions
package import Wire

/// Applies a policy to recorded messages. The messages are judged as on the bus, one by one, each
/// at the time of its arrival.
///
/// Memory does not grow with the number of messages. Refusals are counted by kind, with at most
/// `rowLimit` kinds.
package struct PolicySimulation: Sendable {
    package static let rowLimit = 1000

    private let trial: PolicyTrial
    private var limiter = RateLimiter()
    private var now = Duration.zero
    private var rows: [RefusalKey: RefusalRow] = [:]
    private var uses: [RuleID: RuleUse] = [:]

    package private(set) var messages = 0
    package private(set) var writes = 0
    package private(set) var allowed = 0
    /// Messages that are skipped as on the bus: retained, or not a write.
    package private(set) var retained = 0
    package private(set) var otherTopics = 0
    /// Messages whose payload the recorder has rewritten.
    package private(set) var rewritten = 0
    /// Refusals of kinds beyond `rowLimit`.
    package private(set) var untoldRefusals = 0
    /// The arrival times of the first and the last message.
    package private(set) var span: ClosedRange<Duration>?

    package var refused: Int { writes - allowed }

    package init(_ trial: PolicyTrial) { self.trial = trial }

    package mutating func take(_ message: RecordedMessage) {
        messages += 1
        // A rate limiter's time never goes back, but a recorder's clock may.
        now = max(now, message.time)
        span = min(span?.lowerBound ?? message.time, message.time)...max(
            span?.upperBound ?? message.time, message.time)
        guard !message.isRetained else {
            retained += 1
            return
        }
        switch trial.reading(of: .topic(message.topic)) {
        case .write(let write):
            if message.isRewritten { rewritten += 1 }
            judge(message, write.with(message.payload))
        case .refused(let app, let rejection):
            writes += 1
            let names = RefusalNames(app: app.map { "\($0)" } ?? "", className: "", operation: "")
            count(rejection, names, message)
        case .query, .answer, .noRequest, .ignored: otherTopics += 1
        }
    }

    private mutating func judge(_ message: RecordedMessage, _ write: Write) {
        writes += 1
        let rule = trial.gate.policyRule(for: write)
        if let rule { uses[rule, default: RuleUse()].matched += 1 }
        var rejection: Rejection?
        switch trial.gate.decide(write) {
        case .allow: rejection = limiter.admit(write.app, trial.gate.rates(of: write), at: now)
        case .deny(let refusal): rejection = refusal
        }
        guard let rejection else {
            allowed += 1
            return
        }
        let names = RefusalNames(
            app: "\(write.app)", className: "\(write.className)",
            operation: write.operation.rawValue)
        count(rejection, names, message)
    }

    private mutating func count(
        _ rejection: Rejection, _ names: RefusalNames, _ message: RecordedMessage
    ) {
        uses[rejection.rule, default: RuleUse()].refused += 1
        let key = RefusalKey(
            names: names, rule: rejection.rule.description, code: rejection.code.rawValue)
        guard var row = rows[key] else {
            guard rows.count < Self.rowLimit else {
                untoldRefusals += 1
                return
            }
            rows[key] = RefusalRow(
                names: names, rule: key.rule, code: key.code, count: 1, time: message.time,
                topic: message.topic, reason: rejection.reason, field: rejection.field)
            return
        }
        row.count += 1
        rows[key] = row
    }

    /// The kinds of refusals, sorted by count, highest first.
    package var refusals: [RefusalRow] {
        rows.values.sorted { left, right in
            left.count == right.count
                ? left.order.lexicographicallyPrecedes(right.order) : left.count > right.count
        }
    }

    /// How often a rule of the policy matched, and how often it refused.
    package func use(of rule: RuleID) -> RuleUse { uses[rule] ?? RuleUse() }
}

/// How often recorded messages matched one rule, and how often it refused.
package struct RuleUse: Equatable, Sendable {
    package internal(set) var matched = 0
    package internal(set) var refused = 0
}

/// Refusals with the same app, class, operation, rule and code. The other members are those of
/// the first refusal.
package struct RefusalRow: Equatable, Sendable {
    package let names: RefusalNames
    package let rule: String
    package let code: Int
    package fileprivate(set) var count: Int
    package let time: Duration
    package let topic: String
    package let reason: String
    package let field: String?

    fileprivate var order: [String] {
        [names.app, names.className, names.operation, rule, "\(code)"]
    }
}

/// The app, class and operation of a write. A name is empty if the topic does not contain it.
package struct RefusalNames: Hashable, Sendable {
    package let app: String
    package let className: String
    package let operation: String
}

private struct RefusalKey: Hashable {
    let names: RefusalNames
    let rule: String
    let code: Int
}
