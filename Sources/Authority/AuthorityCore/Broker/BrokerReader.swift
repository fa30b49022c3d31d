package import Sessions
package import Wire

/// A client that only reads at the broker.
package enum BrokerReader: Hashable, Sendable {
    /// A person's own program, which may log in as long as this session of the person lives.
    case person(session: ObjectID)
    /// Somebody else's program.
    case consumer(ObjectID)

    private static let person = "person-"
    private static let consumer = "consumer-"

    /// Nil if this is no reader's user name.
    package init?(username: String) {
        func id(after prefix: String) -> ObjectID? {
            username.hasPrefix(prefix) ? ObjectID(String(username.dropFirst(prefix.count))) : nil
        }
        if let session = id(after: Self.person) {
            self = .person(session: session)
        } else if let id = id(after: Self.consumer) {
            self = .consumer(id)
        } else {
            return nil
        }
    }

    private var id: ObjectID {
        switch self {
        case .person(let id), .consumer(let id): id
        }
    }

    package var username: String {
        switch self {
        case .person: Self.person + id.description
        case .consumer: Self.consumer + id.description
        }
    }

    /// The queue of its broker jobs.
    package var line: String { id.description }
}

/// The desired state of a reader at the broker.
package struct DesiredReader: Sendable {
    package let username: String
    package let password: SecretBytes
    /// The topics that it may read.
    package let filters: [String]
    /// Wider filters that it may subscribe to where the broker checks each message that it
    /// delivers. It then receives only what `filters` match.
    package let wide: [String]
    /// Below this topic it may subscribe to any filter, under the same condition. Home Assistant
    /// chooses its own filters.
    package let discovery: TopicRoot?

    package init(
        username: String, password: SecretBytes, filters: [String], wide: [String] = [],
        discovery: TopicRoot? = nil
    ) {
        self.username = username
        self.password = password
        self.filters = filters
        self.wide = wide
        self.discovery = discovery
    }
}
