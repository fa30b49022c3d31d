package import Gate
package import Sessions

/// A request of an app to the agent, read from a topic of the board's own bus.
///
/// Source: the wire contract, For apps.
package enum BusRequest: Equatable, Sendable {
    case write(AppName, RecordPath)
    case read(AppName, BusQuery)
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
            guard levels.count == 5, let query = BusQuery(rawValue: String(levels[4])) else {
                self = .malformed(app, Refusal(.notFound, "get is for session, user and sessions"))
                return
            }
            self = .read(app, query)
        } else if let operation = Operation(rawValue: String(levels[3])) {
            self = Self.write(app, operation, levels.dropFirst(4))
        } else {
            return nil
        }
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
    /// The topics that the agent subscribes to. It ignores `$`-topics and retained messages.
    package static let requests =
        ["create/#", "update/#", "delete/#", "get/#"].map { "postern/app/+/\($0)" }

    /// All topics of the agent's own messages and requests. No route may come from them or lead to
    /// them.
    package static let own = [session, health, "postern/app/#"].compactMap(TopicFilter.init)

    package static func rejected(_ app: AppName) -> String { "postern/app/\(app)/rejected" }

    /// Whether the topic is in an app's folder: it is a request, not a route's topic.
    package static func isRequest(_ topic: String) -> Bool {
        topic.utf8.starts(with: "postern/app/".utf8)
    }

    /// The texts at the places of operation and class in a malformed request, unchanged but cut to
    /// 256 bytes. Empty if the topic has nothing at that place.
    package static func stated(in topic: String) -> (operation: String, className: String) {
        guard isRequest(topic) else { return ("", "") }
        let levels = topic.split(
            separator: "/", maxSplits: 5, omittingEmptySubsequences: false)
        guard levels.count > 3 else { return ("", "") }
        let isWrite = Operation(rawValue: String(levels[3])) != nil
        let className = isWrite && levels.count > 4 ? levels[4] : ""
        return (levels[3].cut(to: 256), className.cut(to: 256))
    }

    /// Whether `topic` may carry an answer to `app`: in the app's own folder, outside the request
    /// topics, without a wildcard.
    package static func isResponse(_ topic: String, for app: AppName) -> Bool {
        let folder = "postern/app/\(app)/"
        guard topic.utf8.count <= 512, topic.hasPrefix(folder),
            !topic.utf8.contains(where: { $0 == 0 || "+#".utf8.contains($0) })
        else { return false }
        let rest = topic.dropFirst(folder.count)
        guard let first = rest.split(separator: "/", omittingEmptySubsequences: false).first
        else { return false }
        return !first.isEmpty && !["create", "update", "delete", "get"].contains(first)
    }
}
