package import Gate
package import Sessions

/// The meaning of a message on the board's own bus. Used by the agent and by rule tests.
package enum TopicReading: Equatable, Sendable {
    case write(NamedWrite)
    /// The topic itself is malformed. Nil if the app's own name is malformed.
    case refused(AppName?, Rejection)
    /// An app asks for data that the agent has. Not a write.
    case query(AppName, BusQuery, of: ObjectID?)
    /// An app answers the command with this id. Not a write.
    case answer(AppName, MessageID)
    /// In an app's folder, but no request: a wrong verb, or an answer of the agent.
    case noRequest(AppName)
    /// Not in an app's folder, and no route matches: the agent ignores it.
    case ignored

    package init(_ topic: String, routes: RouteTable) {
        switch BusRequest(topic) {
        case .write(let app, let path):
            self = .write(NamedWrite(
                app: app, className: path.className, operation: path.operation,
                record: path.record))
        case .read(let app, let query, let id): self = .query(app, query, of: id)
        case .answer(let app, let id): self = .answer(app, id)
        case .malformed(let app, let refusal):
            self = .refused(app, Rejection(
                code: ErrorCode(rawValue: refusal.code) ?? .forbidden, rule: .builtin(.topic),
                reason: refusal.text))
        case nil where BusTopic.isRequest(topic):
            self = topic.topicLevels.dropFirst(2).first.flatMap { AppName($0) }
                .map(TopicReading.noRequest) ?? .ignored
        case nil:
            switch routes.entry(of: topic) {
            case .write(let write): self = .write(write)
            case .refused(let app, let rejection): self = .refused(app, rejection)
            case nil: self = .ignored
            }
        }
    }
}
