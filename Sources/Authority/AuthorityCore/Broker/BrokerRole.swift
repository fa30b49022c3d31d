import Gate
package import Sessions
package import Wire

/// What a broker's client wants to do.
package enum BrokerAct: Equatable, Sendable {
    case publish(topic: String)
    case subscribe(filter: String)
    /// To be handed a message that somebody else published.
    case receive(topic: String)
}

/// What a role lets its clients do; all else is refused.
///
/// The one list for every broker: mosquitto's plugin is given it as it is, and one that asks
/// over HTTP is answered by it.
package struct BrokerRole: Equatable, Sendable {
    package struct Entry: Hashable, Sendable {
        /// As mosquitto's plugin names them.
        package enum Kind: String, Sendable {
            case send = "publishClientSend"
            case receive = "publishClientReceive"
            /// That very filter.
            case subscribeLiteral
            case unsubscribeLiteral
            /// Any filter that matches nothing else.
            case subscribePattern
            case unsubscribePattern
        }

        package let kind: Kind
        package let topic: String

        package init(_ kind: Kind, _ topic: String) {
            self.kind = kind
            self.topic = topic
        }
    }

    package let name: String
    package let entries: [Entry]

    package init(name: String, entries: [Entry]) {
        self.name = name
        self.entries = entries
    }

    package static func boardName(_ board: InstallationID) -> String { "board-\(board)" }

    /// A board's: its own outbox, status and data, its own inbox, nothing else but what its
    /// scope grants. Without `data` only the farewell is left.
    package init(
        board: InstallationID, root: TopicRoot, data: Bool, extraTopics: [String]
    ) {
        let own = "\(root)/\(board)"
        var sends = ["\(own)/outbox", "\(own)/status"]
        if data { sends += ["\(own)/data/#"] + extraTopics }
        self.init(
            name: Self.boardName(board),
            entries: sends.map { Entry(.send, $0) } + [
                Entry(.receive, "\(own)/inbox"),
                Entry(.subscribeLiteral, "\(own)/inbox"),
                Entry(.unsubscribeLiteral, "\(own)/inbox"),
            ])
    }

    /// A person's program: it reads what `filters` match and writes nothing.
    package init(person username: String, filters: [String]) {
        let kinds: [Entry.Kind] = [.receive, .subscribePattern, .unsubscribePattern]
        self.init(
            name: username,
            entries: filters.flatMap { filter in kinds.map { Entry($0, filter) } })
    }

    /// The authority's own. The outbox is read shared, or plainly where nothing can be shared.
    /// On data it clears what a board retained.
    package init(authorityUnder root: TopicRoot) {
        self.init(
            name: "authority",
            entries: [
                Entry(.subscribeLiteral, "$share/authority/\(root)/+/outbox"),
                Entry(.subscribeLiteral, "\(root)/+/outbox"),
                Entry(.subscribeLiteral, "\(root)/+/status"),
                Entry(.receive, "\(root)/+/outbox"),
                Entry(.receive, "\(root)/+/status"),
                Entry(.send, "\(root)/+/inbox"),
                Entry(.send, "\(root)/+/status"),
                Entry(.send, "\(root)/+/data/#"),
            ])
    }
}

extension BrokerRole {
    /// Decides from the entries alone, by Gate's own matcher. A malformed topic or filter is
    /// refused; leaving a subscription is nobody's to forbid.
    package func permits(_ act: BrokerAct) -> Bool {
        switch act {
        case .publish(let topic): matches(topic, .send)
        case .receive(let topic): matches(topic, .receive)
        case .subscribe(let filter): permits(subscribing: filter)
        }
    }

    private func matches(_ topic: String, _ kind: Entry.Kind) -> Bool {
        entries.contains { entry in
            entry.kind == kind && TopicFilter(entry.topic)?.matches(topic) == true
        }
    }

    private func permits(subscribing text: String) -> Bool {
        guard let filter = TopicFilter(text) else { return false }
        return entries.contains { entry in
            switch entry.kind {
            case .subscribeLiteral: entry.topic == text
            case .subscribePattern: TopicFilter(entry.topic)?.covers(filter) == true
            default: false
            }
        }
    }
}
