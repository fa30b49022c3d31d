package import Gate
package import Sessions

/// The first levels of the contract's topics; `postern/v1` unless configured.
package struct TopicRoot: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package static let standard = TopicRoot(unchecked: "postern/v1")
    /// Where Home Assistant reads discovery messages unless configured.
    package static let homeAssistant = TopicRoot(unchecked: "homeassistant")

    /// 1 to 8 levels of `[A-Za-z0-9_-]`, at most 100 bytes.
    package init?(_ text: String) {
        let levels = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...8).contains(levels.count), text.utf8.count <= 100,
            levels.allSatisfy({ RecordID($0) != nil })
        else { return nil }
        description = text
    }

    private init(unchecked: String) { description = unchecked }
}

/// A topic between board and authority. Printing and parsing are inverses.
///
/// Source: the wire contract, Topics between board and authority.
package enum ContractTopic: Hashable, Sendable {
    case inbox(InstallationID)
    /// The board's sealed messages to the authority. Not the agent's `Outbox`, which holds data.
    case outbox(InstallationID)
    case status(InstallationID)
    /// A write, and the further levels that a route added.
    case data(InstallationID, RecordPath, TopicSuffix?)

    package func text(under root: TopicRoot) -> String {
        switch self {
        case .inbox(let board): "\(root)/\(board)/inbox"
        case .outbox(let board): "\(root)/\(board)/outbox"
        case .status(let board): "\(root)/\(board)/status"
        case .data(let board, let path, let further):
            "\(root)/\(board)/data/\(path.dataLevels)" + (further.map { "/\($0)" } ?? "")
        }
    }

    package var board: InstallationID {
        switch self {
        case .inbox(let board), .outbox(let board), .status(let board), .data(let board, _, _):
            board
        }
    }

    /// Nil for anything that is not a topic of the contract under `root`.
    package init?(_ text: String, under root: TopicRoot) {
        guard text.utf8.count <= 512, text.hasPrefix("\(root)/") else { return nil }
        let levels = text.dropFirst(root.description.count + 1).topicLevels
        guard levels.count >= 2, let board = InstallationID(String(levels[0])) else { return nil }
        switch (levels[1], levels.count) {
        case ("inbox", 2): self = .inbox(board)
        case ("outbox", 2): self = .outbox(board)
        case ("status", 2): self = .status(board)
        case ("data", 4...): self.init(board, data: levels[2...])
        default: return nil
        }
    }

    /// Parses class, operation, the object id unless it is a create, and the levels that a route
    /// added.
    private init?(_ board: InstallationID, data levels: ArraySlice<Substring>) {
        guard let className = levels.first, let operation = levels.dropFirst().first else {
            return nil
        }
        var rest = levels.dropFirst(2)
        let record = operation == "create" ? nil : rest.popFirst()
        guard let path = RecordPath(
            className: className, operation: operation, record: record)
        else { return nil }
        let further = TopicSuffix(rest.joined(separator: "/"))
        guard rest.isEmpty || further != nil else { return nil }
        self = .data(board, path, rest.isEmpty ? nil : further)
    }
}

/// The target of a write: an operation on a class, and a record unless it creates one.
package struct RecordPath: Hashable, Sendable {
    package let className: ClassName
    package let operation: Operation
    /// Nil exactly for `create`.
    package let record: RecordID?

    /// Nil if a record is missing from an update or delete, or given to a create.
    package init?(className: ClassName, operation: Operation, record: RecordID?) {
        guard (operation == .create) == (record == nil) else { return nil }
        self.className = className
        self.operation = operation
        self.record = record
    }

    package init?(className: Substring, operation: Substring, record: Substring?) {
        guard let name = ClassName(className),
            let operation = Operation(rawValue: String(operation))
        else { return nil }
        let id = record.flatMap { RecordID($0) }
        guard (record == nil) == (id == nil) else { return nil }
        self.init(className: name, operation: operation, record: id)
    }

    /// `<Class>/create`, `<Class>/update/<objectId>`, `<Class>/delete/<objectId>`.
    package var dataLevels: String {
        "\(className)/\(operation.rawValue)" + (record.map { "/\($0)" } ?? "")
    }
}
