import Sessions

/// A route as `agent.toml` writes it. Its texts are not parsed yet.
package struct RouteDeclaration: Sendable {
    package let from: TopicFilter
    package let app: AppName
    package let className: String
    package let operation: Operation
    package let objectID: String?
    package let to: String?

    package init(
        from: TopicFilter, app: AppName, className: String, operation: Operation,
        objectID: String?, to: String?
    ) {
        self.from = from
        self.app = app
        self.className = className
        self.operation = operation
        self.objectID = objectID
        self.to = to
    }
}

/// A mistake in a route, and the key that has it.
package struct RouteFault: Error, Equatable, Sendable {
    package let key: String
    package let sentence: String
}

extension Route {
    /// In bytes. Limits how many levels of a topic are compared.
    package static let longestFilter = 512

    /// Parses a route. `reserved` are the topics that no route may come from or lead to: the
    /// contract's and the agent's own.
    package init(
        _ declared: RouteDeclaration, line: Int, reserved: [TopicFilter]
    ) throws(RouteFault) {
        try Self.check(declared.from, reserved)
        let wildcards = declared.from.wildcards
        let to: DestinationText? = try Self.reading("to") { () throws(GrammarError) in
            guard let text = declared.to else { return nil }
            return try DestinationText(text, wildcards: wildcards, reserved: reserved)
        }
        self.init(
            line: line, from: declared.from, app: declared.app, operation: declared.operation,
            classText: try Self.classText(declared), recordText: try Self.recordText(declared),
            to: to)
    }

    private static func check(
        _ from: TopicFilter, _ reserved: [TopicFilter]
    ) throws(RouteFault) {
        if from.beginsWithDollar {
            throw RouteFault(
                key: "from", sentence: "topics that begin with $ are the server's and never enter")
        }
        guard from.description.utf8.count <= longestFilter else {
            throw RouteFault(key: "from", sentence: "has at most \(longestFilter) bytes")
        }
        guard from.description.topicLevels.count <= TopicFilter.mostLevels else {
            throw RouteFault(key: "from", sentence: "has at most \(TopicFilter.mostLevels) levels")
        }
        // On its own topics the agent would read its own messages as an app's.
        if let own = reserved.first(where: { $0.overlaps(from) }) {
            throw RouteFault(
                key: "from", sentence: "\"\(from)\" includes topics of \(own), Postern's own")
        }
    }

    private static func classText(_ declared: RouteDeclaration) throws(RouteFault) -> RouteText {
        let source = declared.className
        let text = try level("class", source, of: declared.from)
        if let literal = text.literal {
            guard let name = ClassName(literal) else {
                throw RouteFault(
                    key: "class", sentence: "\"\(source)\" is not a class name: a letter, then"
                        + " at most 127 letters, digits and _; or {1}, the first wildcard of from")
            }
            // If a level of the topic names the class, the class is checked when a message arrives.
            guard !name.isReserved else {
                throw RouteFault(
                    key: "class", sentence: "a route must not lead to \(name), a system class")
            }
        } else if !text.isOneWildcard {
            throw RouteFault(
                key: "class", sentence: "must be a name or one {n}, so that its reader sees"
                    + " which classes there are")
        }
        return text
    }

    private static func recordText(
        _ declared: RouteDeclaration
    ) throws(RouteFault) -> RouteText? {
        guard let source = declared.objectID else {
            guard declared.operation == .create else {
                throw RouteFault(
                    key: "object_id", sentence: "is missing: \(declared.operation.rawValue)"
                        + " must name the record, as in \"{1}\"")
            }
            return nil
        }
        guard declared.operation != .create else {
            throw RouteFault(key: "object_id", sentence: "is only for update and delete")
        }
        let text = try level("object_id", source, of: declared.from)
        guard text.literal.map({ RecordID($0) != nil }) ?? true else {
            throw RouteFault(
                key: "object_id",
                sentence: "\"\(source)\" is not an objectId: 1 to 64 letters, digits, _ and -")
        }
        return text
    }

    /// A text in which each wildcard matches exactly one level.
    private static func level(
        _ key: String, _ source: String, of from: TopicFilter
    ) throws(RouteFault) -> RouteText {
        let count = from.wildcards
        let text = try reading(key) { () throws(GrammarError) in
            try RouteText(source, wildcards: count)
        }
        guard !from.endsInMany || !text.wildcards.contains(count - 1) else {
            throw RouteFault(
                key: key, sentence: "{\(count)} is a #, which may match several levels; use it"
                    + " only in to")
        }
        return text
    }

    private static func reading<Value>(
        _ key: String, _ read: () throws(GrammarError) -> Value
    ) throws(RouteFault) -> Value {
        do throws(GrammarError) {
            return try read()
        } catch {
            throw RouteFault(key: key, sentence: error.text)
        }
    }
}
