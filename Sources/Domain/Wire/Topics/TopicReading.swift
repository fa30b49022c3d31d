package import Gate
import Sessions

/// What a message on a topic of the board's own bus is, to the agent and to who tries its rules.
package enum TopicReading: Equatable, Sendable {
    case write(NamedWrite)
    /// The topic itself is malformed; nil where the app's own name is.
    case refused(AppName?, Rejection)
    /// A program asks for what the agent knows: no write.
    case query(AppName, BusQuery)
    /// No app's request, and no route takes it: the agent does not read it.
    case ignored

    package init(_ topic: String, routes: RouteTable) {
        switch BusRequest(topic) {
        case .write(let app, let path):
            self = .write(NamedWrite(
                app: app, className: path.className, operation: path.operation,
                record: path.record))
        case .read(let app, let query): self = .query(app, query)
        case .malformed(let app, let refusal):
            self = .refused(app, Rejection(
                code: ErrorCode(rawValue: refusal.code) ?? .forbidden, rule: .builtin(.topic),
                reason: refusal.text))
        case nil:
            switch routes.entry(of: topic) {
            case .write(let write): self = .write(write)
            case .refused(let app, let rejection): self = .refused(app, rejection)
            case nil: self = .ignored
            }
        }
    }
}
