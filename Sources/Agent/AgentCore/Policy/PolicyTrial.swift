package import Gate
import Sessions
package import Wire

/// A gate and routes for a trial: it decides without storing or sending anything.
///
/// It assumes that the board's session is valid, because the rules do not depend on that.
package struct PolicyTrial: Sendable {
    package let gate: Gate
    package let routes: RouteTable
    /// Whether the gate has the full scope of a session. If not, a write is not refused for a
    /// missing grant of the scope.
    private let isScopeJudged: Bool

    package init(gate: Gate, routes: RouteTable, isScopeJudged: Bool) {
        self.gate = gate
        self.routes = routes
        self.isScopeJudged = isScopeJudged
    }

    /// Reads a subject: a write with its names, a refused topic, or no write, as a command is.
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
        case .command: return .ignored
        }
    }

    /// The decision on a subject and its payload. Nil if the subject is neither a write nor a
    /// command. Does not apply rate limits, because they do not depend on one write alone.
    package func decision(on subject: PolicyCase.Subject, _ payload: [UInt8]) -> Decision? {
        if case .command(let app) = subject { return gate.decide(command: payload, to: app) }
        return switch reading(of: subject) {
        case .write(let write): gate.decide(write.with(payload))
        case .refused(_, let rejection): .deny(rejection)
        case .query, .answer, .noRequest, .ignored: nil
        }
    }
}
