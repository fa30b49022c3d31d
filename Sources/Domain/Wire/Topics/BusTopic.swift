package import Gate
package import Sessions

/// A request of an app to the agent, read from a topic of the board's own bus.
///
/// Source: the wire contract, For apps.
package enum BusRequest: Equatable, Sendable {
    case write(AppName, RecordPath)
    /// `of`: the session that the topic names. Nil: this board's.
    case read(AppName, BusQuery, of: ObjectID?)
    /// An answer to the command with this id.
    case answer(AppName, MessageID)
    /// A request with a malformed topic. The app is given so that it can be answered; nil if the
    /// app's own name is malformed.
    case malformed(AppName?, Refusal)

    /// Nil for a topic that is not an app's request.
    package init?(_ topic: String) {
        let levels = topic.topicLevels
        guard levels.count >= 4, levels[0] == "postern", levels[1] == "app" else { return nil }
        guard let app = AppName(levels[2]) else {
            self = .malformed(nil, Refusal(.badKeyName, "the app's name is not allowed"))
            return
        }
        if levels[3] == "get" {
            self = Self.read(app, levels.dropFirst(4))
        } else if let operation = Operation(rawValue: String(levels[3])) {
            self = Self.write(app, operation, levels.dropFirst(4))
        } else if levels[3] == "answer", levels.count == 5,
            let id = MessageID(String(levels[4])), id.description == levels[4]
        {
            self = .answer(app, id)
        } else {
            return nil
        }
    }

    private static func read(_ app: AppName, _ rest: ArraySlice<Substring>) -> BusRequest {
        let query = rest.first.flatMap { BusQuery(rawValue: String($0)) }
        if let query, rest.count == 1 { return .read(app, query, of: nil) }
        let id = rest.dropFirst().first.flatMap { ObjectID(String($0)) }
        if query == .session, rest.count == 2, id != nil { return .read(app, .session, of: id) }
        return .malformed(
            app, Refusal(.notFound, "get is for session, session/<objectId>, user and sessions"))
    }

    private static func write(
        _ app: AppName, _ operation: Operation, _ rest: ArraySlice<Substring>
    ) -> BusRequest {
        guard let first = rest.first, let className = ClassName(first) else {
            return .malformed(app, Refusal(.badClassName, "the class name is not allowed"))
        }
        let expected = operation == .create ? 1 : 2
        guard rest.count == expected else {
            let form = operation == .create ? "create/<Class>" : "\(operation)/<Class>/<objectId>"
            return .malformed(app, Refusal(.badKeyName, "the topic must end \(form)"))
        }
        let record = rest.dropFirst().first.flatMap { RecordID($0) }
        guard let path = RecordPath(className: className, operation: operation, record: record)
        else { return .malformed(app, Refusal(.badKeyName, "the objectId is not allowed")) }
        return .write(app, path)
    }
}

/// The data that an app may read over the bus.
package enum BusQuery: String, Sendable, CaseIterable {
    case session
    case user
    case sessions
}

/// The fixed topics of the board's own bus.
package enum BusTopic {
    package static let session = "postern/session"
    package static let health = "postern/health"
    /// The topics that the reader subscribes to: five levels and more. The filter also matches a
    /// wrong verb, so that its sender gets an answer, and answers of the agent itself.
    package static let requests = ["postern/app/+/+/+/#"]
    /// The topics with too few levels for a request. The connection that publishes the answers
    /// subscribes to them with No Local, so that answers on four levels do not come back.
    package static let strays = ["postern/app/+", "postern/app/+/+"]
    private static let verbs = ["create", "update", "delete", "get"]
    private static let folder = "postern/app/"

    /// All topics of the agent's own messages and requests. No route may come from them or lead to
    /// them.
    package static let own = [session, health, "postern/app/#"].compactMap(TopicFilter.init)

    /// Where an app gets commands. Only four levels, so that the reader is no subscriber of it.
    package static func command(_ app: AppName) -> String { "postern/app/\(app)/command" }

    package static func rejected(_ app: AppName) -> String { "postern/app/\(app)/rejected" }

    /// Whether the topic is in an app's folder: it is a request, not a route's topic.
    package static func isRequest(_ topic: String) -> Bool {
        topic.utf8.starts(with: folder.utf8)
    }

    /// Whether the topic may have an answer or a rejection: in an app's folder, and no request's.
    package static func isAnswer(_ topic: String) -> Bool {
        isRequest(topic) && verb(of: topic).map { !verbs.contains(String($0)) } ?? false
    }

    /// Whether the topic is an app's `…/rejected`, where the agent alone publishes.
    package static func isRejected(_ topic: String) -> Bool {
        topic.hasSuffix("/rejected") && isRequest(topic)
            && topic.utf8.count { $0 == UInt8(ascii: "/") } == 3
    }

    /// The level behind the app's name. Nil if there is none, or if it is empty.
    private static func verb(of topic: String) -> Substring? {
        let slash = UInt8(ascii: "/")
        let rest = topic.utf8.dropFirst(folder.utf8.count)
        guard let end = rest.firstIndex(of: slash) else { return nil }
        let verb = rest[rest.index(after: end)...].prefix { $0 != slash }
        return verb.isEmpty ? nil : Substring(verb)
    }

    /// The texts at the places of operation and class in a malformed request, unchanged but cut to
    /// 256 bytes. Empty if the topic has nothing at that place.
    package static func stated(in topic: String) -> (operation: String, className: String) {
        guard isRequest(topic) else { return ("", "") }
        let levels = topic.split(
            separator: "/", maxSplits: 5, omittingEmptySubsequences: false)
        guard levels.count > 3 else { return ("", "") }
        let className = levels[3] != "get" && levels.count > 4 ? levels[4] : ""
        return (levels[3].cut(to: 256), className.cut(to: 256))
    }

    /// Whether `topic` may carry an answer to `app`: in the app's own folder, outside the request
    /// topics, without a wildcard.
    package static func isResponse(_ topic: String, for app: AppName) -> Bool {
        guard topic.utf8.count <= 512, topic.hasPrefix("\(folder)\(app)/"), isAnswer(topic)
        else { return false }
        return !topic.utf8.contains { $0 == 0 || "+#".utf8.contains($0) }
    }
}
