package import Gate
import Sessions
package import Wire

/// A gate and routes that are tried out: what they would say, with nothing stored or sent.
///
/// It stands for a board whose session lives; whether one does is not the rules' matter.
package struct PolicyTrial: Sendable {
    package let gate: Gate
    package let routes: RouteTable

    package init(gate: Gate, routes: RouteTable) {
        self.gate = gate
        self.routes = routes
    }

    /// What a subject comes to: a write with its names, a refusal of its topic, or no write.
    package func reading(of subject: PolicyCase.Subject) -> TopicReading {
        switch subject {
        case .topic(let topic): return TopicReading(topic, routes: routes)
        case .write(let app, let operation, let name):
            guard let className = ClassName(name) else {
                return .refused(app, Rejection(
                    code: .badClassName, rule: .builtin(.topic),
                    reason: "the class name is not allowed"))
            }
            return .write(RoutedWrite(
                app: app, className: className, operation: operation, record: nil,
                destination: nil))
        }
    }

    /// What the gate is asked.
    package func write(_ routed: RoutedWrite, _ payload: [UInt8]) -> Write {
        Write(
            app: routed.app, className: routed.className, operation: routed.operation,
            payload: payload)
    }

    /// Nil where the subject is no write. Rates are left out: they are no matter of one write.
    package func decision(on subject: PolicyCase.Subject, _ payload: [UInt8]) -> Decision? {
        switch reading(of: subject) {
        case .write(let routed): gate.decide(write(routed, payload))
        case .refused(_, let rejection): .deny(rejection)
        case .query, .ignored: nil
        }
    }
}
