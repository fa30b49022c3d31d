import Gate
import Sessions
import Wire

/// The rules in force: the gate, the routes and the rate limits. The gate decides by the policy and
/// the session's scope.
struct Rules: Sendable {
    static let lostPolicy = "policy.toml was in force and is gone, so every write is refused: "
        + "put it back, or run `postern-agent policy accept-none`"

    /// Nil: no policy is intended.
    private(set) var policy: Policy?
    /// The active policy file is missing, and no operator has confirmed that no policy is
    /// intended. The agent refuses every write.
    private(set) var isPolicyLost: Bool
    private(set) var routes: RouteTable
    /// Which rules the authority has received.
    var news = RulesReporting()
    private var gate: Gate
    private var limiter = RateLimiter()
    private var commandLimiter = RateLimiter()
    private var readings = TopicReadings()

    /// `hadPolicy`: whether a policy was in force last.
    init(policy: Policy?, hadPolicy: Bool, scope: Scope?, routes: RouteTable) {
        isPolicyLost = policy == nil && hadPolicy
        let inForce = isPolicyLost ? Policy.refusesAll : policy
        self.policy = inForce
        self.routes = routes
        gate = Gate(policy: inForce, scope: scope)
    }

    /// Puts a policy in force. Nil means that no policy is intended. Keeps the rate limit buckets.
    mutating func setPolicy(_ policy: Policy?, under scope: Scope?, at now: Duration) {
        isPolicyLost = false
        guard policy != self.policy else { return }
        limiter.carry(from: self.policy, to: policy, at: now)
        commandLimiter.carry(from: self.policy, to: policy, ofApp: \.commandRate, at: now)
        self.policy = policy
        news.changed()
        gate = Gate(policy: policy, scope: scope)
    }

    /// Puts a session's scope in force. Nil: there is none.
    mutating func setScope(_ scope: Scope?) { gate = Gate(policy: policy, scope: scope) }

    mutating func setRoutes(_ routes: RouteTable) {
        self.routes = routes
        readings.forget()
    }

    /// The cached reading of a topic. Nil: not cached.
    mutating func cachedReading(of topic: String) -> ReadTopic? { readings.find(topic) }

    mutating func remember(_ reading: ReadTopic, of topic: String) {
        readings.remember(reading, of: topic)
    }

    /// The gate's refusal of a write, or the rate limit's. Nil: allowed. An allowed write counts
    /// for the rate limits.
    mutating func rejection(of write: borrowing Write, at now: Duration) -> Rejection? {
        switch gate.decide(write) {
        case .allow: limiter.admit(write.app, gate.rates(of: write), at: now)
        case .deny(let rejection): named(rejection)
        }
    }

    /// Why the policy refuses a command. Nil: allowed. An allowed command counts for the rate.
    mutating func rejection(of command: BoardCommand, at now: Duration) -> Rejection? {
        guard let app = AppName(command.app) else {
            return Rejection(
                code: .badKeyName, rule: .builtin(.command),
                reason: "no app can have this name: it is [a-z0-9][a-z0-9-]{0,31}")
        }
        switch gate.decide(command: command.content.bytes, to: app) {
        case .allow: return commandLimiter.admit(app, gate.rates(ofCommandsTo: app), at: now)
        case .deny(let rejection): return rejection
        }
    }

    /// Gives a refusal the lost policy as its reason, instead of a missing rule.
    private func named(_ rejection: Rejection) -> Rejection {
        guard isPolicyLost, rejection.rule == .policyDefault else { return rejection }
        return Rejection(code: rejection.code, rule: .policyDefault, reason: Self.lostPolicy)
    }
}
