import Sessions

/// Another program's topic that enters as writes of one app.
package struct Route: Hashable, Sendable {
    /// Where it stands in `agent.toml`.
    package let line: Int
    package let from: TopicFilter
    /// Always written out: whoever names a foreign topic must not choose an app's name.
    package let app: AppName
    package let operation: Operation
    /// A class, or one wildcard.
    let classText: RouteText
    /// Nil exactly for `create`.
    let recordText: RouteText?
    /// Nil: the contract's topic.
    let to: DestinationText?

    /// A route to the contract's topic that looks at nothing of the topic it came from.
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

    /// The class that it leads to, unless a level of the topic names it.
    package var className: ClassName? { classText.literal.flatMap { ClassName($0) } }

    /// What it makes of a topic that `from` matches.
    func entry(of topic: String) -> RouteEntry {
        let captures = from.captures(of: topic)
        guard let className = ClassName(classText.text(captures: captures)) else {
            return refusal(.badClassName, "the level that names the class is no class name:"
                + " a letter, then at most 127 letters, digits and _")
        }
        let record = recordText.flatMap { RecordID($0.text(captures: captures)) }
        guard recordText == nil || record != nil else {
            return refusal(.badKeyName, "what the topic gives as objectId is none:"
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

    private func refusal(_ code: ErrorCode, _ reason: String) -> RouteEntry {
        .refused(app, Rejection(code: code, rule: .route(line: line), reason: reason))
    }

    /// Whether each topic that enters comes to the same write.
    var isFixed: Bool {
        classText.literal != nil && (recordText.map { $0.literal != nil } ?? true) && to == nil
    }
}
