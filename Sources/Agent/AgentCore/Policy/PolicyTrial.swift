package import Gate
import Sessions
package import Wire

/// A gate and routes that are tried out: what they would say, with nothing stored or sent.
///
/// It stands for a board whose session lives; whether one does is not the rules' matter.
package struct PolicyTrial: Sendable {
    package let gate: Gate
    package let routes: RouteTable
    /// Whether the gate has all that a session's scope says. If not, no write is refused for
    /// what only a scope grants.
    private let isScopeJudged: Bool

    package init(gate: Gate, routes: RouteTable, isScopeJudged: Bool) {
        self.gate = gate
        self.routes = routes
        self.isScopeJudged = isScopeJudged
    }

    /// What a subject comes to: a write with its names, a refusal of its topic, or no write.
    package func reading(of subject: PolicyCase.Subject) -> TopicReading {
        switch subject {
        case .topic(let topic):
            let reading = TopicReading(topic, routes: routes)
            guard !isScopeJudged, case .write(let write) = reading,
                case .elsewhere? = write.destination
            else { return reading }
            return .write(NamedWrite(
                app: write.app, className: write.className, operation: write.operation,
                record: write.record))
        case .write(let app, let operation, let name):
            guard let className = ClassName(name) else {
                return .refused(app, Rejection(
                    code: .badClassName, rule: .builtin(.topic),
                    reason: "the class name is not allowed"))
            }
            return .write(NamedWrite(app: app, className: className, operation: operation))
        }
    }

    /// Nil where the subject is no write. Rates are left out: they are no matter of one write.
    package func decision(on subject: PolicyCase.Subject, _ payload: [UInt8]) -> Decision? {
        switch reading(of: subject) {
        case .write(let write): gate.decide(write.with(payload))
        case .refused(_, let rejection): .deny(rejection)
        case .query, .ignored: nil
        }
    }
}
