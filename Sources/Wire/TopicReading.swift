package import Gate
import Sessions

/// What the gate is asked about a message on a topic of the board's own bus.
package enum TopicReading: Equatable, Sendable {
    /// An app's own write has no destination but the contract's.
    case write(RoutedWrite)
    /// The topic itself is malformed; nil where the app's own name is.
    case refused(AppName?, Rejection)
    /// A program asks for what the agent knows: no write.
    case query
    /// No app's request, and no route takes it: the agent does not read it.
    case ignored

    package init(_ topic: String, routes: RouteTable) {
        switch BusRequest(topic) {
        case .write(let app, let path):
            self = .write(RoutedWrite(
                app: app, className: path.className, operation: path.operation,
                record: path.record, destination: nil))
        case .read: self = .query
        case .malformed(let app, let refusal):
            self = .refused(app, Rejection(
                code: ErrorCode(rawValue: refusal.code) ?? .forbidden, rule: .builtin(.topic),
                reason: refusal.text))
        case nil:
            switch routes.entry(of: topic) {
            case .write(let routed): self = .write(routed)
            case .refused(let app, let rejection): self = .refused(app, rejection)
            case nil: self = .ignored
            }
        }
    }
}
