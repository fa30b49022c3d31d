import Sessions

/// Maps another program's topic to writes of one app.
package struct Route: Hashable, Sendable {
    /// The route's line in `agent.toml`, or in the file of restored routes.
    package let line: Int
    /// Whether the route came from a replaced board.
    package var isRestored = false
    package let from: TopicFilter
    /// Always a fixed name: the sender of a foreign topic must not choose the name of an app.
    package let app: AppName
    package let operation: Operation
    /// A class name, or one wildcard.
    let classText: RouteText
    /// Nil exactly for `create`.
    let recordText: RouteText?
    /// Nil: the contract's topic.
    let to: DestinationText?

    /// A route to the contract's topic that uses no level of the source topic.
    package init(
        line: Int, from: TopicFilter, app: AppName, className: ClassName, operation: Operation
    ) {
        self.init(
            line: line, from: from, app: app, operation: operation,
            classText: RouteText(literal: className.description), recordText: nil, to: nil)
    }

    init(
        line: Int, from: TopicFilter, app: AppName, operation: Operation,
        classText: RouteText, recordText: RouteText?, to: DestinationText?
    ) {
        self.line = line
        self.from = from
        self.app = app
        self.operation = operation
        self.classText = classText
        self.recordText = recordText
        self.to = to
    }

    /// The texts from which the same route can be read.
    package var declaration: RouteDeclaration {
        RouteDeclaration(
            from: from, app: app, className: classText.source, operation: operation,
            objectID: recordText?.source, to: to?.description)
    }

    /// The class that the route writes to; nil if a level of the topic names the class.
    package var className: ClassName? { classText.literal.flatMap { ClassName($0) } }

    /// The write for a topic that `from` matches, or the refusal.
    func entry(of topic: String) -> RouteEntry {
        let captures = from.captures(of: topic)
        guard let className = ClassName(classText.text(captures: captures)) else {
            return refusal(.badClassName, "the level that names the class is not a class name:"
                + " a letter, then at most 127 letters, digits and _")
        }
        let record = recordText.flatMap { RecordID($0.text(captures: captures)) }
        guard recordText == nil || record != nil else {
            return refusal(.badKeyName, "the level that names the object is not an objectId:"
                + " 1 to 64 letters, digits, _ and -")
        }
        var destination: Destination?
        switch to?.destination(captures: captures) {
        case nil: break
        case .success(let made): destination = made
        case .failure(let error): return refusal(.badKeyName, error.text)
        }
        return .write(NamedWrite(
            app: app, className: className, operation: operation, record: record,
            destination: destination))
    }

    package var id: RuleID { isRestored ? .restoredRoute(line: line) : .route(line: line) }

    private func refusal(_ code: ErrorCode, _ reason: String) -> RouteEntry {
        .refused(app, Rejection(code: code, rule: id, reason: reason))
    }

    /// Whether every matching topic gives the same write.
    var isFixed: Bool {
        classText.literal != nil && (recordText.map { $0.literal != nil } ?? true) && to == nil
    }
}
