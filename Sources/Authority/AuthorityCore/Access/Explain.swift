package import Gate
package import Sessions
import Wire

/// A write to explain.
package struct ExplainOrder: Sendable {
    /// The maximum size of the payload in bytes.
    package static let payloadLimit = 64 * 1024

    package let board: InstallationID
    package let write: NamedWrite
    package let payload: [UInt8]

    package init(board: InstallationID, write: NamedWrite, payload: [UInt8]) {
        self.board = board
        self.write = write
        self.payload = payload
    }
}

/// The decision of each layer about a write, and the final decision.
package struct Explanation: Equatable, Sendable {
    package enum Layer: String, Sendable, CaseIterable {
        case builtin
        case scope
        case policy
    }

    package struct Verdict: Equatable, Sendable {
        package let layer: Layer
        /// Nil if the layer does not exist and so forbids nothing, or is not known.
        package let decision: Decision?
        /// The text of the deciding rule, or why there is none.
        package let reason: String

        package init(layer: Layer, decision: Decision?, reason: String) {
            self.layer = layer
            self.decision = decision
            self.reason = reason
        }
    }

    /// In the order of the layers.
    package let verdicts: [Verdict]
    /// The board's decision, as far as its rules are known here.
    package let decision: Decision
    package let reason: String
    /// False: the board has not reported its own rules, which may refuse a write that is allowed
    /// here.
    package let knowsPolicy: Bool

    package init(
        verdicts: [Verdict], decision: Decision, reason: String, knowsPolicy: Bool
    ) {
        self.verdicts = verdicts
        self.decision = decision
        self.reason = reason
        self.knowsPolicy = knowsPolicy
    }
}

extension Authority {
    package func explain(
        _ order: ExplainOrder, by caller: Caller
    ) async throws(AuthorityError) -> Explanation {
        guard order.payload.count <= ExplainOrder.payloadLimit else {
            throw .refuse(
                .tooLarge, "a payload to explain has at most \(ExplainOrder.payloadLimit) bytes")
        }
        return try await look(.explain, by: caller) { act throws(AuthorityError) in
            _ = try act.board(order.board, to: .manage)
            let active = try act.transaction.activeSession(on: order.board)
            let session = active.flatMap { record in
                record.isLive(at: act.now, under: rules.lifetimes) ? record : nil
            }
            let judge = WriteJudge(
                hasSession: session != nil, scope: try session?.scope?.document(),
                rules: try act.transaction.report(of: order.board)?.report.rules)
            return judge.explain(order.write.with(order.payload))
        }
    }
}

/// A board's gate, with the rules that the authority knows.
struct WriteJudge {
    private let hasSession: Bool
    private let hasScope: Bool
    private let rules: BoardReport.Rules?
    private let gate: Gate

    init(hasSession: Bool, scope: ScopeDocument?, rules: BoardReport.Rules?) {
        self.hasSession = hasSession
        self.rules = rules
        hasScope = scope != nil
        let policy: Policy? = if case .file(let document) = rules { document.policy } else { nil }
        gate = Gate(policy: policy, scope: scope.map(Self.read))
    }

    func explain(_ write: Write) -> Explanation {
        var layers: [String: LayerVerdict] = [:]
        for verdict in gate.explain(write) { layers[verdict.layer] = verdict }
        let verdicts = [builtin(layers), scope(layers), policy(layers)]
        var decision = gate.decide(write)
        if !hasSession { decision = .deny(Self.noSession) }
        return Explanation(
            verdicts: verdicts, decision: decision, reason: reason(decision, verdicts),
            knowsPolicy: knowsPolicy)
    }

    /// Reads a scope as the board does: a scope that cannot be read allows nothing.
    private static func read(_ document: ScopeDocument) -> Scope {
        do throws(WireError) {
            return try Scope(document)
        } catch {
            return Scope(allowsByDefault: false, rules: [], topics: [])
        }
    }

    private static let noSession = Rejection(
        code: .invalidSession, rule: .builtin(.session),
        reason: "this board has no session; claim it")

    private var knowsPolicy: Bool {
        switch rules {
        case nil, .omitted: false
        case .noFile, .file: true
        }
    }

    private func builtin(_ layers: [String: LayerVerdict]) -> Explanation.Verdict {
        guard hasSession else {
            return .init(layer: .builtin, decision: .deny(Self.noSession),
                reason: Self.noSession.reason)
        }
        return verdict(.builtin, layers["built-in"], allowing: "no built-in rule denies it")
    }

    private func scope(_ layers: [String: LayerVerdict]) -> Explanation.Verdict {
        guard hasScope else {
            return .init(layer: .scope, decision: nil, reason: hasSession
                ? "the session has no scope, so no scope limits it" : "there is no session")
        }
        return verdict(
            .scope, layers["scope"], allowing: "no rule matches it; the scope's default allows it")
    }

    /// The app's limit and the rules of the policy file are one layer.
    private func policy(_ layers: [String: LayerVerdict]) -> Explanation.Verdict {
        switch rules {
        case nil:
            return .init(layer: .policy, decision: nil,
                reason: "the board has not sent its policy file yet")
        case .omitted:
            return .init(layer: .policy, decision: nil, reason: "the board's policy file is too "
                + "large to send; on the board, run postern-agent policy explain")
        case .noFile:
            return .init(layer: .policy, decision: nil,
                reason: "the board has no policy file, so no policy limits it")
        case .file:
            let limit = layers["app limit"]
            if case .deny? = limit?.decision {
                return verdict(.policy, limit, allowing: "")
            }
            return verdict(.policy, layers["policy.toml"],
                allowing: "no rule matches it; the policy file's default allows it")
        }
    }

    private func verdict(
        _ layer: Explanation.Layer, _ found: LayerVerdict?, allowing text: String
    ) -> Explanation.Verdict {
        let reason = if case .deny(let rejection)? = found?.decision {
            rejection.reason
        } else {
            found?.says ?? text
        }
        return .init(layer: layer, decision: found?.decision, reason: reason)
    }

    private func reason(_ decision: Decision, _ verdicts: [Explanation.Verdict]) -> String {
        if case .deny(let rejection) = decision { return rejection.reason }
        guard knowsPolicy else {
            return "allowed by the rules known here; the board's own rules may deny it"
        }
        return verdicts.last { $0.decision == decision }?.reason ?? "no layer denies it"
    }
}
