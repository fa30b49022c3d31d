import Gate
package import Sessions
package import Wire

/// An action that a broker's client asks for.
package enum BrokerAction: Equatable, Sendable {
    case publish(topic: String)
    case subscribe(filter: String)
    /// To receive a message that another client published.
    case receive(topic: String)
}

/// The permissions of a broker's clients. Everything else is refused.
///
/// All brokers use this list. Mosquitto's plugin receives it unchanged. A broker that asks over
/// HTTP gets answers from it.
package struct BrokerRole: Equatable, Sendable {
    package struct Entry: Hashable, Sendable {
        /// The names that mosquitto's plugin uses.
        package enum Kind: String, Sendable {
            case send = "publishClientSend"
            case receive = "publishClientReceive"
            /// Only exactly this filter.
            case subscribeLiteral
            case unsubscribeLiteral
            /// Any filter that matches only topics of this filter.
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

    /// The role of a board: it publishes to its outbox, status and data, reads its inbox, and uses
    /// the topics that its scope grants. Without `data` it cannot publish data or use granted
    /// topics.
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

    /// The role of a prepared claim: its board may ask to join, and nothing else.
    package init(prepared id: InstallationID, root: TopicRoot) {
        self.init(
            name: Self.boardName(id),
            entries: [Entry(.send, ContractTopic.outbox(id).text(under: root))])
    }

    /// The role of a reader. It reads topics that match `filters`, and publishes nothing. It may
    /// also subscribe to exactly a filter of `wide`, and to any filter below `prefix`, but receives
    /// no more by that.
    package init(
        reader username: String, filters: [String], wide: [String] = [],
        below prefix: TopicRoot? = nil
    ) {
        let patterns: [Entry.Kind] = [.subscribePattern, .unsubscribePattern]
        let literal: [Entry.Kind] = [.subscribeLiteral, .unsubscribeLiteral]
        let below = prefix.map { prefix in patterns.map { Entry($0, "\(prefix)/#") } } ?? []
        self.init(
            name: username,
            entries: filters.flatMap { filter in ([.receive] + patterns).map { Entry($0, filter) } }
                + wide.flatMap { filter in literal.map { Entry($0, filter) } } + below)
    }

    /// The role of the authority. It reads the outbox with a shared subscription, or a plain one if
    /// the broker has no shared ones. It publishes to data only to clear messages that a board
    /// retained. It announces sensors below `discovery`.
    package init(authorityUnder root: TopicRoot, discovery: TopicRoot) {
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
                Entry(.send, BoardSensor.topics(of: nil, below: discovery)),
            ])
    }
}

extension BrokerRole {
    /// Decides from the entries alone, with Gate's matcher. Refuses a malformed topic or filter.
    /// Unsubscribing is always allowed.
    package func permits(_ act: BrokerAction) -> Bool {
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
